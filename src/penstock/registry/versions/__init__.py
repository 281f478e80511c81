"""Registration, history, differences and deletion of schema versions."""
