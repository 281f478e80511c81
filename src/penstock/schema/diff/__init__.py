"""The differences between two versions of a schema, part by part, and the compatibility modes that each change breaks."""
