"""Noise as data: the integer noise table, its families and its design."""
