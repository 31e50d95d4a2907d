"""Pictures of the papers, recomputed."""
