"""Runs a Glue script, a shell or an interactive session in its process."""
