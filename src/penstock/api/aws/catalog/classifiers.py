"""Glue's operations on custom classifiers."""

from typing import Any

from penstock.api.aws.protocol.handlers import call, listing, under
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.crawl.classifiers.model import Classifier, ClassifierKind
from penstock.crawl.classifiers.service import ClassifierService
from penstock.errors import InvalidInput

__all__ = ["operations"]

_TYPES: dict[str, ClassifierKind] = {
    "GrokClassifier": "grok",
    "XMLClassifier": "xml",
    "JsonClassifier": "json",
    "CsvClassifier": "csv",
}
_MEMBERS = {classifier_type: member for member, classifier_type in _TYPES.items()}


def operations(service: ClassifierService) -> OperationSet:
    """Return every operation of Glue on classifiers, which ``service`` answers."""

    def create(request: Request, _context: RequestContext) -> Response:
        service.create(*_classifier(request))
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        service.update(*_classifier(request))
        return {}

    handlers = {
        "CreateClassifier": create,
        "UpdateClassifier": update,
        "DeleteClassifier": call(service.delete, "Name"),
        "GetClassifier": call(service.get, "Name", answer=under("Classifier", _shape)),
        "GetClassifiers": listing("Classifiers", _shape, service.page),
    }
    return OperationSet(service="glue", handlers=handlers)


def _classifier(request: Request) -> tuple[str, ClassifierKind, dict[str, Any]]:
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
