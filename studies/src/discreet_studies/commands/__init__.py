"""Commands that this package adds to `discreet`."""
