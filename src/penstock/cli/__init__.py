"""The command line: commands over values that render as a table or as JSON."""
