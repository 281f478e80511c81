"""The kinds of sinks: what each declares, and how its section is read."""
