"""What was asked: the log of requests, its chain, and who is meant by an address in it."""
