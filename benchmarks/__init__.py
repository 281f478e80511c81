"""Benchmarks as ratios within one run; ``make bench`` runs them all and writes a Markdown table."""
