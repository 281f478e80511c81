"""MATCH_RECOGNIZE: its grammar, the query that stands for it, and the matcher of row patterns."""
