"""What is around the engine: the JVM's supervision, several pipelines in one Spark, lag, metrics, clusters."""
