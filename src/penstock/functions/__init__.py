"""Lambda-style functions and their event source mapping: Kafka and Kinesis to handlers in child processes."""
