"""The web face: routes, pages, templates and static files."""
