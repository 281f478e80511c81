"""Runs of pipelines, and what is around them: hosts, several pipelines in one Spark, metrics, clusters."""
