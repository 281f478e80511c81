"""What a file is: its format, its columns and about how many rows it has, from a bounded part of it."""
