"""Engines, which store and count records: one module per kind, which defines `KIND`."""
