"""Kinesis as a source of Spark's Structured Streaming, for the runner, Glue scripts and scripts of one's own."""
