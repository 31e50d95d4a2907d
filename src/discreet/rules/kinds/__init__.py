"""The kinds of rules that come with Discreet: each module registers its own, and nothing else lists them."""
