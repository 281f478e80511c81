"""Every error class has a text, and its code is one of AWS's: of a served service's model, or common to all services."""

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import pytest

import penstock
from penstock.api.aws.protocol.models import SERVICES, load_model
from penstock.errors import PenstockError

COMMON = {
    # AWS's "Common errors" of each API reference, and the protocols' own.
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "RequestEntityTooLargeException",
    "SerializationException",
    "ServiceUnavailableException",
    "UnknownOperationException",
    "UnrecognizedClientException",
    "ValidationError",
    # Lambda's, which is not a service of the server: functions are run here.
    "InvalidParameterValueException",
}


def error_classes(base: type[PenstockError] = PenstockError) -> Iterator[type[PenstockError]]:
    for derived in base.__subclasses__():
        yield derived
        yield from error_classes(derived)


def modelled() -> set[str]:
    """The codes of the errors of all served services."""
    shapes = [item for service in SERVICES for item in load_model(service).shapes.items()]
    return {code for name, shape in shapes if "error" in shape or "exception" in shape for code in code_of(name, shape)}


def code_of(name: str, shape: Mapping[str, Any]) -> set[str]:
    return {name, shape.get("error", {}).get("code", name)}


@pytest.fixture(scope="module")
def classes() -> list[type[PenstockError]]:
    for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if module.name.endswith(".errors"):
            import_module(module.name)
    return list(error_classes())


def test_each_code_is_one_of_awss(classes: list[type[PenstockError]]) -> None:
    known = modelled() | COMMON
    assert [class_.__name__ for class_ in classes if "aws_code" in class_.__dict__ and class_.aws_code not in known] == []


def test_each_class_says_what_it_is(classes: list[type[PenstockError]]) -> None:
    assert len(classes) > 50
    assert [class_.__name__ for class_ in classes if not class_.__doc__] == []
