"""Accounts, users, groups, roles and instance profiles."""
