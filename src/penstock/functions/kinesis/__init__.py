"""The event source mapping of Kinesis."""
