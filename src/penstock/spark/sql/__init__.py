"""Spark SQL for the server's statements: a process with a warm session, and its owner's side, which needs no pyspark."""
