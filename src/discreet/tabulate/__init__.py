"""Records and a request to an `ExactTable`, on an engine."""
