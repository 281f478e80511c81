"""All pipelines of a folder, which run in one Spark: their names and locations must be different."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.pipelines.model import Pipeline
from penstock.pipelines.parse import read_pipeline

__all__ = ["check_separate", "read_pipelines"]

_SUFFIXES = (".yaml", ".yml")


def read_pipelines(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    read: Callable[[Path, Mapping[str, str] | None], Pipeline] = read_pipeline,
) -> tuple[Pipeline, ...]:
    """Return the pipelines of all ``*.yaml`` and ``*.yml`` directly in ``folder``, by the files' names, by ``read``.

    Raises :class:`InvalidInput` if there is none, for the first wrong file, and for pipelines that are not separate.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and not path.name.startswith("."))
    if not paths:
        raise InvalidInput(f"The folder {folder} has no pipeline.", remedy="Pipelines are files *.yaml or *.yml in it.")
    pipelines = tuple(read(path, environment) for path in paths)
    check_separate(pipelines)
    return pipelines


def check_separate(pipelines: Sequence[Pipeline]) -> None:
    """Raise :class:`InvalidInput` if two pipelines have the same name, or if a location of one is in one of another."""
    for number, pipeline in enumerate(pipelines):
        for other in pipelines[:number]:
            if pipeline.name == other.name:
                raise InvalidInput(
                    f"{other.origin} and {pipeline.origin} declare pipelines of the same name, {pipeline.name}.",
                    remedy="Give each its own: it names the ledger.",
                )
            _check_locations(pipeline, other)


def _check_locations(pipeline: Pipeline, other: Pipeline) -> None:
    for name, location in pipeline.locations.items():
        for other_name, used in other.locations.items():
            here, there = f"{location.rstrip('/')}/", f"{used.rstrip('/')}/"
            if here.startswith(there) or there.startswith(here):
                raise InvalidInput(
                    f"{pipeline.origin}: the location of {name} ({location}) is that of {other_name} of {other.name} "
                    f"({used}, {other.origin}), or one is inside the other.",
                    remedy="Pipelines that run together need locations of their own.",
                )
