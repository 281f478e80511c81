"""The bookmark of a table of a database: the last values of columns that only grow, or only shrink.

Source: "Tracking processed data using job bookmarks", the rules of JDBC sources,
https://docs.aws.amazon.com/glue/latest/dg/monitor-continuations.html
"""

import logging
from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.errors import InvalidInput
from penstock.glue.jobs.bookmarks import State
from penstock.glue.options import Options
from penstock.glue.sources.port import Read
from penstock.spark.quoting import quoted

__all__ = ["unread_rows"]

_KEYS, _ORDER, _LAST = "keys", "order", "last"
_log = logging.getLogger("awsglue")


def unread_rows(read: Read, frame: DataFrame, options: Options) -> DataFrame:
    """Return the rows of ``frame`` that no committed run of the job has read, and propose the bookmark behind them.

    ``options`` are those of the source. Rows with a null key are left out. Raises :class:`InvalidInput` for wrong options
    and for columns that do not exist. Without a bookmark, and without keys, these are all rows.
    """
    keys, order = options.names("jobBookmarkKeys", '["id"]', separator=","), _order(options)
    marks = read.session.bookmarks.marks(read.transformation_ctx)
    if marks is None:
        return frame
    if not keys:
        _log.warning("Source %s has no jobBookmarkKeys: every run reads all its rows.", read.transformation_ctx)
        return frame
    missing = [key for key in keys if key.lower() not in {name.lower() for name in frame.columns}]
    if missing:
        raise InvalidInput(
            f"jobBookmarkKeys has {', '.join(missing)}, which is not a column.",
            remedy=f"The columns are {', '.join(frame.columns)}.",
        )
    rows = frame
    after = _last(marks.after, keys, order)
    if after is not None:
        rows = rows.where(_behind(rows, keys, after, order))
    if marks.upto is not None:
        end = _last(marks.upto, keys, order)
    else:
        end = _end(rows, keys, order)
        if end is not None:
            read.session.bookmarks.propose(read.transformation_ctx, {_KEYS: keys, _ORDER: order, _LAST: end})
    if end is None:
        return rows.where(F.lit(False))
    # Rows that come while this is read belong to the next run.
    keyed = reduce(lambda one, other: one & other, (F.col(quoted(key)).isNotNull() for key in keys))
    return rows.where(keyed & ~_behind(rows, keys, end, order))


def _order(options: Options) -> str:
    # AWS's pages spell it in two ways.
    text = (options.text("jobBookmarkKeysSortOrder") or options.text("jobBookmarksKeysSortOrder") or "asc").lower()
    if text not in {"asc", "desc"}:
        raise InvalidInput(f"jobBookmarkKeysSortOrder is {text!r}.", remedy="Use asc or desc.")
    return text


def _last(state: State | None, keys: Sequence[str], order: str) -> list[str] | None:
    if state is None or (state.get(_KEYS), state.get(_ORDER)) != (list(keys), order):
        return None  # a bookmark of other keys says nothing of these
    return list(state[_LAST])


def _end(frame: DataFrame, keys: Sequence[str], order: str) -> list[str] | None:
    """Return the last key of the rows as texts, None without a row."""
    columns = [F.col(quoted(key)) for key in keys]
    whole = reduce(lambda one, other: one & other, (column.isNotNull() for column in columns))
    both = F.struct(*(column.alias(f"k{number}") for number, column in enumerate(columns)))
    last = (F.max if order == "asc" else F.min)(both).alias("last")
    texts = [F.col(f"last.k{number}").cast("string") for number in range(len(keys))]
    row = frame.where(whole).agg(last).select(*texts).collect()[0]
    return None if row[0] is None else list(row)


def _behind(frame: DataFrame, keys: Sequence[str], last: Sequence[str], order: str) -> Column:
    """Return whether a row's key comes behind ``last``: by the first key that differs."""
    conditions = []
    for number, key in enumerate(keys):
        column, value = F.col(quoted(key)), F.lit(last[number]).cast(frame.select(quoted(key)).schema[0].dataType)
        same = [
            F.col(quoted(before)) == F.lit(last[index]).cast(frame.select(quoted(before)).schema[0].dataType)
            for index, before in enumerate(keys[:number])
        ]
        conditions.append(reduce(lambda one, other: one & other, same, column > value if order == "asc" else column < value))
    return reduce(or_, conditions)
