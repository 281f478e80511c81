"""A job's own arguments that prepare its process: ``--conf``, ``--extra-py-files``, ``--extra-jars``.

Source: "Using job parameters in AWS Glue jobs", https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-glue-arguments.html.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.jobs.settings import split_settings
from penstock.lake.locations import SCHEMES, LakeFolder

__all__ = ["Reserved", "reserved_arguments", "values_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """``settings`` are Spark's, ``python`` joins Python's path, ``jars`` join Spark's class path.

    ``modules`` are the files that executors of a cluster get.
    """

    settings: Mapping[str, str]
    python: Sequence[Path]
    jars: Sequence[Path]
    modules: Sequence[Path] = ()


def reserved_arguments(arguments: Sequence[str], *, lake: Path | None, supervised: bool) -> Reserved:
    """Return what ``arguments`` ask for. Files are local, or in the folder ``lake`` of the buckets.

    The server has copied the files of a run that it supervises, and has given their places. Raises :class:`InvalidInput`
    for a file that does not exist or is on S3, and for a setting that is not Spark's.
    """
    settings = {key: value for text in values_of(arguments, "--conf") for key, value in split_settings(text)}
    if supervised:
        return Reserved(settings=settings, python=(), jars=())
    python = [_file(name, "--extra-py-files", lake) for name in _listed(arguments, "--extra-py-files")]
    return Reserved(
        settings=settings,
        # A module is found in its folder, an archive is a folder itself.
        python=list(dict.fromkeys(path.parent if path.suffix == ".py" else path for path in python)),
        jars=[_file(name, "--extra-jars", lake) for name in _listed(arguments, "--extra-jars")],
        modules=python,
    )


def values_of(arguments: Sequence[str], name: str) -> list[str]:
    """Return the values of ``name``, given as ``--name value`` or ``--name=value``."""
    behind = [after for before, after in pairwise(arguments) if before == name]
    return [*behind, *(argument.partition("=")[2] for argument in arguments if argument.startswith(f"{name}="))]


def _listed(arguments: Sequence[str], name: str) -> list[str]:
    return [part.strip() for text in values_of(arguments, name) for part in text.split(",") if part.strip()]


def _file(name: str, argument: str, lake: Path | None) -> Path:
    if name.startswith(SCHEMES):
        if lake is None:
            raise InvalidInput(
                f"{argument} names {name[:200]}, which is on S3.",
                remedy="Give a local copy. Jobs of the server ('penstock jobs') copy such files themselves.",
            )
        path = LakeFolder(lake.absolute()).path(name)
    else:
        path = Path(name).absolute()
    if not path.is_file():
        raise InvalidInput(f"{argument} names {name[:200]}, which does not exist.")
    return path
