"""The local certificate authority, and certificates of the listeners."""
