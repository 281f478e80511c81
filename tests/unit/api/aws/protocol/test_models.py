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
    prefixes = {"query": f"query {theirs['metadata']['apiVersion']}", "rest-json": f"rest {service}"}
    protocol = theirs["metadata"]["protocol"]
    assert ours.target_prefix == prefixes.get(protocol, theirs["metadata"].get("targetPrefix"))
    assert ours.rest == (protocol == "rest-json")
    if ours.rest:
        paths = {
            name: (operation["http"]["method"], operation["http"]["requestUri"])
            for name, operation in theirs["operations"].items()
        }
        assert paths == {name: ("POST", f"/{name}") for name in paths}
    assert ours.signing_name == theirs["metadata"].get("signingName", theirs["metadata"]["endpointPrefix"])
