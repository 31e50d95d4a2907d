"""A `Release` to a file: one module, one function each."""
