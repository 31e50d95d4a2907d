"""Sentences for people: translatable messages, citations for readers of files, refusals, and the list of attacks."""
