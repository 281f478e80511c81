"""Glue's operations on partitions."""

from collections.abc import Callable, Sequence

from penstock.api.aws.catalog.shapes import error_detail, partition_input, partition_shape
from penstock.api.aws.protocol.handlers import call, member, paged
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.partitions.filters import Segment
from penstock.catalog.service import CatalogService
from penstock.errors import PenstockError

__all__ = ["partition_handlers"]

_PAGE = 1_000  # PageSize


def partition_handlers(service: CatalogService) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    return {**_readers(service), **_writers(service)}


def _readers(service: CatalogService) -> dict[str, Handler]:
    def get(request: Request, context: RequestContext) -> Response:
        partition = service.partition(request["DatabaseName"], request["TableName"], request["PartitionValues"])
        return {"Partition": partition_shape(partition, context.account)}

    def get_all(request: Request, context: RequestContext) -> Response:
        share = request.get("Segment")
        page = service.partitions_page(
            request["DatabaseName"],
            request["TableName"],
            limit=request.get("MaxResults") or _PAGE,
            token=request.get("NextToken"),
            expression=request.get("Expression"),
            segment=Segment(number=share["SegmentNumber"], total=share["TotalSegments"]) if share else None,
        )
        columns = not request.get("ExcludeColumnSchema")
        shapes = [partition_shape(partition, context.account, columns=columns) for partition in page.items]
        return paged(page, Partitions=shapes)

    def get_several(request: Request, context: RequestContext) -> Response:
        keys = [key["Values"] for key in request["PartitionsToGet"]]
        partitions, unprocessed = service.partitions_by_values(request["DatabaseName"], request["TableName"], keys)
        shapes = [partition_shape(partition, context.account) for partition in partitions]
        return {"Partitions": shapes, "UnprocessedKeys": [{"Values": list(values)} for values in unprocessed]}

    return {"GetPartition": get, "GetPartitions": get_all, "BatchGetPartition": get_several}


def _writers(service: CatalogService) -> dict[str, Handler]:
    place, partition = ("DatabaseName", "TableName"), member("PartitionInput", partition_input)
    inputs = member("PartitionInputList", lambda shapes: [partition_input(shape) for shape in shapes])
    updates = member(
        "Entries",
        lambda entries: [(entry["PartitionValueList"], partition_input(entry["PartitionInput"])) for entry in entries],
    )
    values = member("PartitionsToDelete", lambda entries: [entry["Values"] for entry in entries])
    return {
        "CreatePartition": call(service.create_partition, *place, partition),
        "UpdatePartition": call(service.update_partition, *place, "PartitionValueList", partition),
        "DeletePartition": call(service.delete_partition, *place, "PartitionValues"),
        "BatchCreatePartition": call(service.create_partitions, *place, inputs, answer=_errors("PartitionValues")),
        "BatchUpdatePartition": call(service.update_partitions, *place, updates, answer=_errors("PartitionValueList")),
        "BatchDeletePartition": call(service.delete_partitions, *place, values, answer=_errors("PartitionValues")),
    }


def _errors(name: str) -> Callable[[Sequence[tuple[Sequence[str], PenstockError]]], Response]:
    return lambda failed: {"Errors": [{name: list(values), "ErrorDetail": error_detail(error)} for values, error in failed]}
