"""Job."""

from penstock.spark.glue.jobs.job import Job

__all__ = ["Job"]
