"""The HTTP API: its routes, the JSON documents that they return, and the OpenAPI description."""
