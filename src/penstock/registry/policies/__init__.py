"""Scope configs, resource policies and the cache of parsed policies."""
