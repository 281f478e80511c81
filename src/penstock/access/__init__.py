"""Authentication and authorization: access keys, principals, signatures, policies and the audit log."""
