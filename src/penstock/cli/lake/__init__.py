"""``penstock lake``."""
