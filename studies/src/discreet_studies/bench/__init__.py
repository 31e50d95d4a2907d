"""What the README claims about speed, measured in one run beside the peers."""
