"""SDMX REST for SDMX's own clients: dataflows, their structures, and data."""
