"""Delivers batches of records to a function, with retries and destinations."""
