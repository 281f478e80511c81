"""Functions and operators on dates, times and intervals."""
