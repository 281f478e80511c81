"""Databases that Glue's connections and JDBC URLs lead to: their addresses, and one connection to PostgreSQL or Redshift."""
