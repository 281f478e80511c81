"""Statements in child processes: the pool, the engine, results, limits."""
