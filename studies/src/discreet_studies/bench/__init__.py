"""What the README claims about speed, measured beside the peers: one module a part, which exports `PART`."""
