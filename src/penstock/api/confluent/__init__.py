"""Confluent Schema Registry's REST interface over the registry that AWS's operations serve."""
