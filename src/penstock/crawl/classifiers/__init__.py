"""Custom classifiers: grok patterns, XML's row tags, JSON paths, and delimited text by given rules."""
