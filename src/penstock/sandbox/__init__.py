"""Confines a process that runs what users wrote: Landlock, seccomp, no capabilities, and a system user of its own."""
