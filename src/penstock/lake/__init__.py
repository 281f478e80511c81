"""Object layout, partition paths, file statistics and the commit ledger of the lake."""
