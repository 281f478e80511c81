"""GlueContext, and what it reads, writes, streams and deletes with."""
