"""Maintenance of tables: small files become large ones while streams write and queries read."""
