"""Secret to record keys to cell keys."""
