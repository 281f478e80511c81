"""How a Glue script is run: arguments, job, launcher, stopping."""
