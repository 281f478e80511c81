"""Glue's operations on jobs, triggers, workflows and sessions."""
