"""Athena's operations, asked by boto3."""
