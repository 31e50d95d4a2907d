"""Which noise a cell gets: keys, the cover of a universe, plans, and the protectors."""
