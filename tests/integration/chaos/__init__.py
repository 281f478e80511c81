"""Short forms of the suite of faults."""
