"""All charts, for the command line, reports and the web."""
