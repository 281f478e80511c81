"""Which members of requests are served."""
