"""Glue's public Python library as rows: what is served, how it differs, and what to write instead of what is not.

Pure data, which imports no pyspark. :mod:`penstock.glue.library.table` has the rows of all areas.
"""
