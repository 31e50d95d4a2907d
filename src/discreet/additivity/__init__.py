"""After the noise: totals that equal the sum of their parts, where they must."""
