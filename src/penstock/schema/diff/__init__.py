"""What changed between two versions of a schema, part by part, and which compatibility modes each change breaks."""
