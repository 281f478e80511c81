"""The demo: the whole platform with the flights that left New York in 2013, and a reconciliation of every record."""
