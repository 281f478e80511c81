"""Kinesis records: serialisers, KPL aggregation."""
