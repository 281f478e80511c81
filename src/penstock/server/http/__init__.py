"""HTTP serving: the protocol class, TLS, host checks, listening sockets."""
