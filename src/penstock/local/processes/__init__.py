"""Child processes of the platform: start, watch, restart, end."""
