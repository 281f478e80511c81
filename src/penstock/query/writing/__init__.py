"""What statements write: CTAS, INSERT and UNLOAD, in each format, as one change that readers see whole."""
