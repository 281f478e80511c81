"""What a Glue script uses of AWS's library, read from its text alone: the script is not run, and Spark is not needed."""
