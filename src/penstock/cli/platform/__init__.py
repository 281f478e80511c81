"""Commands for the embedded platform."""
