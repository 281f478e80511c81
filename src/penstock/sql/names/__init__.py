"""Names in a query: what they mean by Trino's rules of scopes, and suggestions for one that does not resolve."""
