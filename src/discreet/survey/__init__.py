"""People represented: survey weights after the noise, and their sampling error."""
