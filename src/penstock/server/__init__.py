"""The composition root: dependency wiring, health, metrics, and the server's processes."""
