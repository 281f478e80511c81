"""Glue's operations on custom classifiers."""

from typing import Any

from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.crawl.classifiers.model import Classifier, ClassifierKind
from penstock.crawl.classifiers.service import ClassifierService
from penstock.errors import InvalidInput

__all__ = ["operations"]

_PAGE = 100
_TYPES: dict[str, ClassifierKind] = {
    "GrokClassifier": "grok",
    "XMLClassifier": "xml",
    "JsonClassifier": "json",
    "CsvClassifier": "csv",
}
_MEMBERS = {kind: member for member, kind in _TYPES.items()}


def operations(service: ClassifierService) -> OperationSet:
    """Return every operation of Glue on classifiers, which ``service`` answers."""

    def create(request: Request, _context: RequestContext) -> Response:
        service.create(*_wanted(request))
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        service.update(*_wanted(request))
        return {}

    def delete(request: Request, _context: RequestContext) -> Response:
        service.delete(request["Name"])
        return {}

    def get(request: Request, _context: RequestContext) -> Response:
        return {"Classifier": _shape(service.get(request["Name"]))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        token = {"NextToken": page.next_token} if page.next_token else {}
        return {"Classifiers": [_shape(item) for item in page.items], **token}

    handlers = {
        "CreateClassifier": create,
        "UpdateClassifier": update,
        "DeleteClassifier": delete,
        "GetClassifier": get,
        "GetClassifiers": get_all,
    }
    return OperationSet(service="glue", handlers=handlers)


def _wanted(request: Request) -> tuple[str, ClassifierKind, dict[str, Any]]:
    members = [member for member in _TYPES if request.get(member) is not None]
    if len(members) != 1:
        raise InvalidInput(f"The request has {len(members)} classifiers.", remedy=f"Give one of {', '.join(_TYPES)}.")
    settings = dict(request[members[0]])
    return settings.pop("Name"), _TYPES[members[0]], settings


def _shape(classifier: Classifier) -> dict[str, Any]:
    shape = {
        **classifier.settings,
        "Name": classifier.name,
        "CreationTime": classifier.created,
        "LastUpdated": classifier.updated,
        "Version": classifier.version,
    }
    return {_MEMBERS[classifier.kind]: shape}
