"""What `discreet describe` does: a draft of `dataset.toml` from a file of records."""
