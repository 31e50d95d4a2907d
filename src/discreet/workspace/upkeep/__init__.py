"""The life of a dataset: listed, rolled back, removed, backed up, moved, examined. Custodians only; no number leaves."""
