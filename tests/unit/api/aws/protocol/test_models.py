"""Models as Penstock reads them, compared with those of botocore's loader."""

import pytest
from botocore.loaders import Loader

from penstock.api.aws.protocol.models import SERVICES, load_model


@pytest.mark.parametrize("service", SERVICES)
def test_models_are_those_that_botocore_loads(service: str) -> None:
    theirs = Loader().load_service_model(service, "service-2")
    ours = load_model(service)
    assert {name: shape["type"] for name, shape in ours.shapes.items()} == {
        name: shape["type"] for name, shape in theirs["shapes"].items()
    }
    assert {name: operation.get("input") for name, operation in ours.operations.items()} == {
        name: operation.get("input") for name, operation in theirs["operations"].items()
    }
    assert ours.query == (theirs["metadata"]["protocol"] == "query")
    prefix = f"query {theirs['metadata']['apiVersion']}" if ours.query else theirs["metadata"]["targetPrefix"]
    assert ours.target_prefix == prefix
    assert ours.signing_name == theirs["metadata"].get("signingName", theirs["metadata"]["endpointPrefix"])
