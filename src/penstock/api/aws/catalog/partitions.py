"""Glue's operations on partitions."""

from penstock.api.aws.catalog.shapes import error_detail, partition_input, partition_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.partitions.filters import Segment
from penstock.catalog.service import CatalogService

__all__ = ["partition_handlers"]

_PAGE = 1_000  # PageSize


def partition_handlers(service: CatalogService) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    return {**_readers(service), **_writers(service), **_batch_writers(service)}


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
        shapes = [partition_shape(item, context.account, columns=columns) for item in page.items]
        return {"Partitions": shapes, "NextToken": page.next_token} if page.next_token else {"Partitions": shapes}

    def get_several(request: Request, context: RequestContext) -> Response:
        wanted = [item["Values"] for item in request["PartitionsToGet"]]
        partitions, unprocessed = service.partitions_by_values(request["DatabaseName"], request["TableName"], wanted)
        shapes = [partition_shape(item, context.account) for item in partitions]
        return {"Partitions": shapes, "UnprocessedKeys": [{"Values": list(values)} for values in unprocessed]}

    return {"GetPartition": get, "GetPartitions": get_all, "BatchGetPartition": get_several}


def _writers(service: CatalogService) -> dict[str, Handler]:
    def create(request: Request, _context: RequestContext) -> Response:
        service.create_partition(request["DatabaseName"], request["TableName"], partition_input(request["PartitionInput"]))
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        service.update_partition(
            request["DatabaseName"],
            request["TableName"],
            request["PartitionValueList"],
            partition_input(request["PartitionInput"]),
        )
        return {}

    def remove(request: Request, _context: RequestContext) -> Response:
        service.delete_partition(request["DatabaseName"], request["TableName"], request["PartitionValues"])
        return {}

    return {"CreatePartition": create, "UpdatePartition": update, "DeletePartition": remove}


def _batch_writers(service: CatalogService) -> dict[str, Handler]:
    def create(request: Request, _context: RequestContext) -> Response:
        wanted = [partition_input(input_) for input_ in request["PartitionInputList"]]
        failed = service.create_partitions(request["DatabaseName"], request["TableName"], wanted)
        return {"Errors": [{"PartitionValues": list(entry), "ErrorDetail": error_detail(error)} for entry, error in failed]}

    def update(request: Request, _context: RequestContext) -> Response:
        wanted = [(entry["PartitionValueList"], partition_input(entry["PartitionInput"])) for entry in request["Entries"]]
        failed = service.update_partitions(request["DatabaseName"], request["TableName"], wanted)
        return {
            "Errors": [{"PartitionValueList": list(entry), "ErrorDetail": error_detail(error)} for entry, error in failed]
        }

    def remove(request: Request, _context: RequestContext) -> Response:
        wanted = [item["Values"] for item in request["PartitionsToDelete"]]
        failed = service.delete_partitions(request["DatabaseName"], request["TableName"], wanted)
        return {"Errors": [{"PartitionValues": list(entry), "ErrorDetail": error_detail(error)} for entry, error in failed]}

    return {"BatchCreatePartition": create, "BatchUpdatePartition": update, "BatchDeletePartition": remove}
