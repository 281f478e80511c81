"""The composition root: ports wired by hand, health, metrics, and the processes that serve."""
