"""The demonstration: the whole platform on the flights that left New York in 2013, reconciled to the record."""
