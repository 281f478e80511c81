"""The lake: objects, partition paths, file statistics and the commit ledger."""
