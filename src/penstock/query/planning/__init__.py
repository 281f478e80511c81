"""From a parsed statement to the files it reads: partitions, projection, permissions."""
