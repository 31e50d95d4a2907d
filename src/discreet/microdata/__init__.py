"""Records in: readers, schema checks, the loader and the demo data."""
