"""The builder: shelves, pickers, groups and the verdict on a choice, drawn by the server; every control is an address."""
