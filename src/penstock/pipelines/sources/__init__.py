"""The kinds of sources: what each declares, and how its section is read."""
