"""penstock registry: export, import, audit log."""
