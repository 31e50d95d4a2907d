"""The five papers, recomputed: every printed number beside ours, and whether they agree."""
