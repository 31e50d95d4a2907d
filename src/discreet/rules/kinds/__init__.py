"""The kinds of rules; each module registers its own."""
