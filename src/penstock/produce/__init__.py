"""Records from files or from chance, sent to a topic with a registered schema, and every acknowledgement counted."""
