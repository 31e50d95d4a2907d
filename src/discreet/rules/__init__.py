"""Disclosure rules: which requests and cells may be released, with reasons and advice. They never see a true count."""
