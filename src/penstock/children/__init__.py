"""Child processes that are asked over a socket: how they are started and confined, what goes over it, and how they end."""
