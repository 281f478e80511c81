"""Commands that move records: produce, run, glue, functions."""
