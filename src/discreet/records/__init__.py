"""Records: read, check, key, store and count them, on any engine."""
