"""Engines: where records are counted. One module, one engine."""
