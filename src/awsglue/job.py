"""Job."""

from penstock.spark.glue.job import Job

__all__ = ["Job"]
