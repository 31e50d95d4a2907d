"""Draft."""
