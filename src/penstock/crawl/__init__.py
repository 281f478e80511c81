"""Tables inferred from the lake."""
