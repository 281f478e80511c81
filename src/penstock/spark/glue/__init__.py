"""What Glue's Python library does for streaming scripts, on Spark alone; ``awsglue`` gives it AWS's module names."""
