"""Decode frames to rows in the JVM, by schema version."""
