"""The operations of Glue's schema registry."""
