"""Glue's Python library for streaming scripts, on Spark alone; ``awsglue`` gives it AWS's module names."""
