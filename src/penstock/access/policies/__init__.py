"""Policy documents, their conditions and their evaluation."""
