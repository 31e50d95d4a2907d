"""After the noise: what is done to noisy cells for display."""
