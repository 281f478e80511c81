"""What crawlers read beside files: tables of databases, of DynamoDB, of Iceberg and Delta, and those of the catalog."""
