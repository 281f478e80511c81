"""SHOW and DESCRIBE: they read the catalog and return the columns and lines that Athena returns."""
