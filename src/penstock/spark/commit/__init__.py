"""The commit of a micro-batch: stage, check, commit."""
