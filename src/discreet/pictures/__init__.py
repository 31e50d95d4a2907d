"""Every chart, for the command line, reports and the web alike."""
