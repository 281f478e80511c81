"""Every source with every format to every sink."""
