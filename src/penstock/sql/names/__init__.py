"""Names in a query: what they mean by Trino's rules of scopes, and what a name that means nothing may have been."""
