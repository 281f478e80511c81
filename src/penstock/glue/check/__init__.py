"""What a Glue script uses of AWS's library, told by its text alone: nothing of it is run, and Spark is not needed."""
