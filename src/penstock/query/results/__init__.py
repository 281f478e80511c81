"""Results: values as Trino prints them, rows as Athena stores them, and where the objects are."""
