"""Records in: read, check, key, store and count them, on an engine."""
