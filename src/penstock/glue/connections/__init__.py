"""Glue's connections as options of Spark: databases, their drivers, Redshift, brokers."""
