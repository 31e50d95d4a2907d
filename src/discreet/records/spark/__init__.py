"""Spark: the session, records that live in Spark, and the partitions that executors stage."""
