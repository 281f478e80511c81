"""The operations of Organizations."""
