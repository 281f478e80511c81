"""The metastore's parts."""
