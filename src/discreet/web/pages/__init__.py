"""Pages: routes in `table_page.py` and its siblings, the form in `builder.py`, the grid in `table_grid.py`."""
