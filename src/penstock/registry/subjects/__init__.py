"""Confluent's subjects over the registry: names, schema ids, configs and modes."""
