"""Runs a Glue script, a shell or an interactive session in its process."""

from pathlib import Path

__all__ = ["INTERACTIVE"]

INTERACTIVE = Path(__file__).with_name("interactive.py")
"""The script that an interactive session runs; named by its file, because its server does without Spark."""
