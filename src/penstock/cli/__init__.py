"""The command line: commands, whose results are printed as tables or as JSON."""
