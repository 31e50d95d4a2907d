"""Engines: where records are kept and counted. One module, one kind of engine: it binds `KIND`."""
