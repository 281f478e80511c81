"""Frames to rows in the JVM, by schema version."""
