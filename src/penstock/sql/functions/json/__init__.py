"""JSON functions: documents, the two path languages, and their rows."""
