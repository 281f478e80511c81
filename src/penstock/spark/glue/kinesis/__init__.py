"""Kinesis as a source of Glue streaming scripts."""
