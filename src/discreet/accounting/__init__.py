"""What is promised: the exact audit of a noise table."""
