"""The writers of the formats: each function yields the document of a release in pieces."""
