"""What a reader may conclude from a release and its noise law, never from exact counts."""
