"""Faults at every step of a batch, for every sink, by a schedule from a seed; all records reconciled at the end."""
