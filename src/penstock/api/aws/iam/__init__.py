"""The operations of IAM and STS."""
