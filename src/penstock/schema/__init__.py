"""Parse, canonicalise, infer, compare and explain schemas; pure functions, no I/O."""
