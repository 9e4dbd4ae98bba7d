"""Authentication and the limits per key, shared by every interface: an API key gives a principal and its channel."""
