"""penstock schema: check definitions, compare versions."""
