"""Sketches: HyperLogLog, T-digest and q-digest, in the bytes that Trino stores."""
