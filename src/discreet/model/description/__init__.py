"""Parsing of `dataset.toml`: sections, labels in several languages, and the dataset as a whole."""
