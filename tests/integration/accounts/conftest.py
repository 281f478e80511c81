"""The world of accounts, once a module."""

from accounts_world import world

__all__ = ["world"]
