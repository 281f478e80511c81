"""Lake Formation: who may use which databases, tables, columns and rows of the catalog, beside IAM's policies."""
