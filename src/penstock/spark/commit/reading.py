"""One reading of a batch: its records decoded, and counted on the way, by the shorter decoder where it fits."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.spark.decode.direct import DirectDecode
from penstock.spark.decode.records import decoded, good_rows
from penstock.spark.decode.versions import DecodePlan

__all__ = ["Reading", "Readings"]

_SAME_ROWS = frozenset({"Project", "SubqueryAlias", "View", "CollectMetrics"})
"""Nodes of Spark's logical plans that have a row for each row of their child."""


class Reading:
    """The ``rows`` of ``records``, and the counts of the records as soon as the rows are written.

    ``never_null`` are fields without nulls, whatever the records.
    """

    def __init__(
        self,
        records: DataFrame,
        plan: DecodePlan,
        *,
        branches: int,
        zlib: bool,
        direct: DirectDecode | None,
        as_written: bool,
    ) -> None:
        self.records = records
        self.plan = plan
        self._branches = branches
        self._zlib = zlib
        self._direct = direct
        self._as_written = as_written
        self._read, self._good = Observation(), Observation()
        self.never_null = direct.never_null if direct is not None else frozenset[str]()
        if direct is None:
            self.rows = good_rows(self.frame, plan, self._read)
        else:
            rows = direct.rows(records, self._read)
            self.rows = rows if as_written else rows.observe(self._good, F.count(F.lit(1)).alias("good"))

    @cached_property
    def frame(self) -> DataFrame:
        """The records with version, reason and row, as :func:`~penstock.spark.decode.records.decoded` gives them."""
        return decoded(self.records, self.plan, branches=self._branches, zlib=self._zlib)

    def counts(self, written: int) -> Mapping[str, Any]:
        """Return ``records``, ``oldest``, ``bad``, reasons and ``vN``, after ``written`` rows were written."""
        if self._direct is None:
            return self._read.get
        counts = self._direct.found(self._read.get)
        counts["bad"] = counts["records"] - (written if self._as_written else self._good.get["good"])
        return counts

    def has_all_rows(self, output: DataFrame) -> bool:
        """Return whether ``output`` of a transform has a row for each of ``rows``, as far as its plan shows that."""
        node: Any = output._jdf.queryExecution().analyzed()
        base: Any = self.rows._jdf.queryExecution().analyzed()
        while not node.equals(base):
            if str(node.nodeName()) not in _SAME_ROWS:
                return False
            node = node.children().head()
        return True


class Readings:
    """The readings of one pipeline's batches. What a plan needs is made once, and kept until there is another plan.

    Where a transform has a row for each row that was read, the rows are counted as written, and not while they are read.
    """

    def __init__(self, *, branches: int) -> None:
        self._branches = branches
        self._plan: DecodePlan | None = None
        self._direct: DirectDecode | None = None
        self._as_written: bool | None = None

    def read(self, records: DataFrame, plan: DecodePlan, *, zlib: bool) -> Reading:
        """Return a reading of ``records`` by ``plan``."""
        if plan is not self._plan:
            self._plan, self._as_written = plan, None
            self._direct = DirectDecode(plan) if plan.plain and plan.writers else None
        return Reading(
            records,
            plan,
            branches=self._branches,
            zlib=zlib,
            direct=None if zlib else self._direct,
            as_written=bool(self._as_written),
        )

    def transformed(self, reading: Reading, output: DataFrame) -> None:
        """Note what became of the rows of a reading, for the next one."""
        if self._as_written is None and reading.plan is self._plan:
            self._as_written = reading.has_all_rows(output)
