"""The sinks: how the staged rows of a batch are published, once."""
