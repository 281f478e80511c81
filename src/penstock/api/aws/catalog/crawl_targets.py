"""Crawlers' targets beside S3, as Glue's API has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.api.aws.protocol.values import Request, present
from penstock.crawl.model import CatalogTarget, DeltaTarget, DynamoTarget, IcebergTarget, JdbcTarget, OtherTarget
from penstock.errors import InvalidInput

__all__ = ["other_shapes", "other_targets"]

_DEPTH = 10


def _jdbc(shape: Request) -> JdbcTarget:
    return JdbcTarget(
        connection=_required(shape, "JDBC", "ConnectionName"),
        path=_required(shape, "JDBC", "Path"),
        exclusions=tuple(shape.get("Exclusions") or ()),
        metadata=tuple(shape.get("EnableAdditionalMetadata") or ()),
    )


def _dynamodb(shape: Request) -> DynamoTarget:
    rate = shape.get("scanRate")
    if rate is not None and not 0.1 <= rate <= 1.5:
        raise InvalidInput(f"scanRate {rate} is not from 0.1 to 1.5.")
    return DynamoTarget(table=_required(shape, "DynamoDB", "Path"), scan_all=shape.get("scanAll"), scan_rate=rate)


def _catalog(shape: Request) -> CatalogTarget:
    return CatalogTarget(database=shape["DatabaseName"], tables=tuple(shape["Tables"]))


def _iceberg(shape: Request) -> IcebergTarget:
    depth = shape.get("MaximumTraversalDepth")
    if depth is not None and not 1 <= depth <= 20:
        raise InvalidInput(f"MaximumTraversalDepth {depth} is not from 1 to 20.")
    return IcebergTarget(
        paths=tuple(shape.get("Paths") or ()),
        exclusions=tuple(shape.get("Exclusions") or ()),
        depth=_DEPTH if depth is None else depth,
    )


def _delta(shape: Request) -> DeltaTarget:
    if shape.get("WriteManifest") or not shape.get("CreateNativeDeltaTable"):
        raise InvalidInput(
            "Delta targets become native Delta tables: tables over manifests of symbolic links are not made.",
            remedy="Set CreateNativeDeltaTable to true and WriteManifest to false.",
        )
    return DeltaTarget(paths=tuple(shape.get("DeltaTables") or ()))


_READ: Mapping[str, Callable[[Request], OtherTarget]] = {
    "JdbcTargets": _jdbc,
    "DynamoDBTargets": _dynamodb,
    "CatalogTargets": _catalog,
    "IcebergTargets": _iceberg,
    "DeltaTargets": _delta,
}


def other_targets(shape: Request) -> Sequence[OtherTarget]:
    """Return the targets in a CrawlerTargets structure that are not of S3. Raises :class:`InvalidInput`."""
    return tuple(read(target) for member, read in _READ.items() for target in shape.get(member) or ())


def other_shapes(targets: Sequence[OtherTarget]) -> dict[str, list[dict[str, Any]]]:
    """Return the members of CrawlerTargets; each is there, as in Glue's answers."""
    shapes: dict[str, list[dict[str, Any]]] = {member: [] for member in ("MongoDBTargets", "HudiTargets", *_READ)}
    for target in targets:
        member, shape = _shape(target)
        shapes[member].append(present(**shape))
    return shapes


def _shape(target: OtherTarget) -> tuple[str, dict[str, Any]]:
    match target:
        case JdbcTarget():
            return "JdbcTargets", {
                "ConnectionName": target.connection,
                "Path": target.path,
                "Exclusions": list(target.exclusions),
                "EnableAdditionalMetadata": list(target.metadata),
            }
        case DynamoTarget():
            return "DynamoDBTargets", {"Path": target.table, "scanAll": target.scan_all, "scanRate": target.scan_rate}
        case CatalogTarget():
            return "CatalogTargets", {"DatabaseName": target.database, "Tables": list(target.tables)}
        case IcebergTarget():
            return "IcebergTargets", {
                "Paths": list(target.paths),
                "Exclusions": list(target.exclusions),
                "MaximumTraversalDepth": target.depth,
            }
        case DeltaTarget():
            return "DeltaTargets", {
                "DeltaTables": list(target.paths),
                "WriteManifest": False,
                "CreateNativeDeltaTable": True,
            }


def _required(shape: Request, target_type: str, member: str) -> str:
    value = shape.get(member)
    if not value:
        raise InvalidInput(f"A {target_type} target has no {member}.", remedy=f"Set {member}.")
    return str(value)
