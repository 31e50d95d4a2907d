"""The one road from a request to a release: check it, count, protect, and state the guarantee."""
