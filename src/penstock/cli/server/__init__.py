"""Commands that run and administer a server."""
