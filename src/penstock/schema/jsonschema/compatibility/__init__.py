"""Compatibility of JSON Schemas: whether a reader's schema accepts what a writer's schema accepts."""
