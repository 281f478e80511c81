"""Explains an exception that no command translated: in one sentence, with a remedy.

Libraries come with extras, so their exceptions are recognised only if the library is loaded already.
"""

import errno
import sys
import traceback
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentProblem, InternalError, InvalidInput, PenstockError

__all__ = ["DEBUG", "explained"]

DEBUG = "PENSTOCK_DEBUG"
"""Environment variable; 1 makes commands show tracebacks."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_WIDTH = 400


def explained(error: BaseException) -> PenstockError:
    """Return the error to show: ``error`` itself if it is Penstock's, else one about the machine, AWS or the store.

    Any other error is a defect: an :class:`InternalError` that names its place in Penstock's code.
    """
    if isinstance(error, PenstockError):
        return error
    if isinstance(error, OSError):
        return _of_the_system(error)
    if isinstance(error, MemoryError):
        return EnvironmentProblem("The memory is used up.", remedy="Use a larger machine, or less data at once.")
    if _is(error, "botocore.exceptions", "BotoCoreError", "ClientError") or _is(error, "boto3.exceptions", "Boto3Error"):
        return _of_aws(error)
    if _is(error, "sqlalchemy.exc", "SQLAlchemyError"):
        return _of_the_store(error)
    return _defect(error)


def _defect(error: BaseException) -> InternalError:
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if "penstock" in Path(frame.filename).parts), None)
    where = f" at {Path(place.filename).name}:{place.lineno}" if place else ""
    return InternalError(
        f"A defect of Penstock{where}: {type(error).__name__}: {_line(error)}.",
        remedy=f"Please report it with the traceback, which {DEBUG}=1 shows.",
    )


def _is(error: BaseException, module: str, *names: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(error, tuple(getattr(loaded, name) for name in names))


def _line(error: BaseException) -> str:
    """Return the first line of an exception's text, without the full stop."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return text[:_WIDTH].rstrip(".")


def _of_the_system(error: OSError) -> PenstockError:
    what = error.strerror or _line(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    if error.errno in _FULL:
        return EnvironmentProblem(
            f"{where}{what}.", remedy="Free space, or choose a folder on another disk; committed data are not lost."
        )
    if error.errno in _REFUSED:
        return EnvironmentProblem(f"{where}{what}.", remedy="Check its owner and permissions, or choose another folder.")
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return EnvironmentProblem(f"{where}{what}.", remedy="Raise the limit with: ulimit -n 4096")
    if isinstance(error, ConnectionError | TimeoutError) and error.filename is None:
        return EnvironmentProblem(f"A connection failed: {what}.", remedy="Check that the other side runs: penstock status.")
    if error.filename is None:
        return EnvironmentProblem(f"The system refused: {what}.", remedy=f"{DEBUG}=1 shows where.")
    return EnvironmentProblem(f"{where}{what}.", remedy="Check the path.")


def _of_the_store(error: BaseException) -> PenstockError:
    if _is(error, "sqlalchemy.exc", "ArgumentError", "NoSuchModuleError"):
        return InvalidInput(f"The store's URL cannot be used: {_line(error)}.", remedy="Correct --store-url.")
    return EnvironmentProblem(
        f"The store failed: {_line(error)}.", remedy="Check its file or server, free space and permissions."
    )


def _of_aws(error: Any) -> PenstockError:
    from penstock.client.connection import translate_error  # noqa: PLC0415 - boto3 is an extra, and slow to import

    return translate_error(error)
