"""DynamicFrame and its transforms."""
