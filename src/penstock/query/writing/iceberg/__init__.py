"""Changes of Iceberg tables by statements: definitions, rows, properties, and the maintenance of their files."""
