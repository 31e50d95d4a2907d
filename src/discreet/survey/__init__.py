"""Weighted tables: forms of weights, and their sampling errors."""
