"""Who asks: keys of accounts, sign-in by a proxy or OpenID Connect, roles, and rate limits."""
