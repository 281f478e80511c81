"""Running a Glue script: arguments, job, launcher, stopping."""
