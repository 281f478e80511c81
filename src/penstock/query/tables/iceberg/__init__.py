"""Iceberg tables as tables of queries: snapshots, planning by manifests, deletes, schema evolution by field ids."""
