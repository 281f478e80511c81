"""The prompt of ``penstock glue shell``: Python with a GlueContext at hand."""

import code
import contextlib
import signal

from pyspark import SparkContext

from penstock.glue.context.glue_context import GlueContext

__all__ = ["main"]

_BANNER = "spark, sc and glueContext are there, and spark.sql finds the tables of the catalog. Ctrl-D ends."


def main() -> None:
    """Read and run statements until the end of input."""
    context = SparkContext()
    glue_context = GlueContext(context)
    # At a prompt, Ctrl-C ends a statement, and not the streams softly.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - the prompt then has a history
    names = {"__name__": "__main__", "sc": context, "spark": glue_context.spark_session, "glueContext": glue_context}
    code.interact(banner=_BANNER, local=names, exitmsg="")


if __name__ == "__main__":
    main()
