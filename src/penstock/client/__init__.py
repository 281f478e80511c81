"""Cached clients of the registry, the catalog and the secrets over boto3; against AWS itself where no endpoint is set."""
