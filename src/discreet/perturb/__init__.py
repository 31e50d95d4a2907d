"""`ExactTable`, cell keys and a noise table to noisy cells."""
