"""OpenID Connect providers and web identity tokens."""
