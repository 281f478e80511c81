"""The audit log: every decision of every service, as CloudTrail records events, in append-only files."""
