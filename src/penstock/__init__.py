"""Penstock: streams with schemas, on AWS's own wire protocols, on one machine or your own cluster."""

__all__ = ["__version__"]

__version__ = "0.1.0"
