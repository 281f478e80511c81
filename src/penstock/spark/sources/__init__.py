"""The sources of streams: what Spark reads, and what a batch of it holds."""
