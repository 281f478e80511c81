"""What a Glue job has: its arguments, its bookmarks, a stop on request."""
