"""From a parsed statement to the engine's SQL over the files that it reads."""
