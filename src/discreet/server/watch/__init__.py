"""The watch of requests: detectors that read the log, and what follows from what they find."""
