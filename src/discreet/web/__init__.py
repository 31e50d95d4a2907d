"""The web face: an HTTP API and pages that work without JavaScript."""
