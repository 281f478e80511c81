"""The Spark runner: sources, decode, sinks, checkpoints, dead letters, metrics. The only package that imports pyspark."""
