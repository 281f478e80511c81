"""From a parsed statement to the files that it reads: partitions, projection, permissions."""
