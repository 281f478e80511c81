"""Runs jobs: a process for each run that outlives the server, its logs, schedules, triggers and workflows."""
