"""AWS's JSON and query protocols: from the request's bytes to a checked operation, and back."""
