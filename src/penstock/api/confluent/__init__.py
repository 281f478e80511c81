"""Confluent Schema Registry's REST API over the registry that AWS's operations serve."""
