"""Tables that follow the stream's schema: types, and what a new version changes."""
