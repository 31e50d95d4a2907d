"""Who asks, what they may see, and how much they may ask: identity, gate, quotas."""
