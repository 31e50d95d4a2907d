"""Values: variables, requests, exact tables (secret) and releases (public)."""
