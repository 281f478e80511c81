"""Which partitions a request selects: typed values, expressions over them, shares of a table."""
