"""The registry's client against botocore's Stubber: its requests, its cache, its errors."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from penstock.client.connection import translated_errors
from penstock.client.registry import RegistryClient, UnknownSchemaVersion
from penstock.errors import (
    AccessDenied,
    AlreadyExists,
    ConcurrentModification,
    EnvironmentProblem,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PenstockError,
)

ENDPOINT = "http://127.0.0.1:9"
SCHEMA_ID = {"RegistryName": "r", "SchemaName": "s"}
LATEST = {"SchemaId": SCHEMA_ID, "SchemaVersionNumber": {"LatestVersion": True}}


def uuid(number: int) -> UUID:
    return UUID(int=number)


def answer(number: int, status: str = "AVAILABLE") -> dict[str, Any]:
    return {
        "SchemaVersionId": str(uuid(number)),
        "SchemaDefinition": '"int"',
        "DataFormat": "AVRO",
        "SchemaArn": "arn:aws:glue:us-east-1:000000000000:schema/r/s",
        "VersionNumber": number,
        "Status": status,
        "CreatedTime": "2026-01-01T00:00:00Z",
    }


class Setup:
    """A client whose requests are scripted, and a clock to turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        self.now = 0.0
        self.client = RegistryClient(region="us-east-1", endpoint_url=ENDPOINT, clock=lambda: self.now)
        self.stub = Stubber(self.client._glue)

    def by_id(self, number: int, status: str = "AVAILABLE") -> None:
        self.stub.add_response("get_schema_version", answer(number, status), {"SchemaVersionId": str(uuid(number))})

    def unknown(self, number: int) -> None:
        self.stub.add_client_error(
            "get_schema_version",
            "EntityNotFoundException",
            f"Schema version is not found. SchemaVersionId: {uuid(number)}",
            400,
            expected_params={"SchemaVersionId": str(uuid(number))},
        )


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    made = Setup(monkeypatch)
    with made.stub:
        yield made
        made.stub.assert_no_pending_responses()


def test_a_version_is_requested_once(setup: Setup) -> None:
    setup.by_id(1)
    first = setup.client.version(uuid(1))
    assert setup.client.version(str(uuid(1))) is first
    assert (first.registry_name, first.schema_name, first.number, first.definition) == ("r", "s", 1, '"int"')


def test_an_answer_that_is_not_the_registrys_names_the_endpoint(setup: Setup) -> None:
    # What botocore makes of a page that a proxy answers with.
    setup.stub.add_response("get_schema_version", {})
    setup.stub.add_response("get_schema_version", {})
    setup.stub.add_response("get_schema_by_definition", {})
    client = setup.client
    for ask in (
        lambda: client.version(uuid(1)),
        lambda: client.latest("r", "s"),
        lambda: client.find_version("r", "s", '"int"'),
    ):
        with pytest.raises(EnvironmentProblem, match=f"Asking for .*{ENDPOINT} answered without 'Schema"):
            ask()


def test_a_pending_version_is_not_cached(setup: Setup) -> None:
    setup.by_id(1, "PENDING")
    setup.by_id(1)
    assert setup.client.version(uuid(1)).status == "PENDING"
    assert setup.client.version(uuid(1)).status == "AVAILABLE"


def test_an_unknown_id_is_remembered_for_a_while(setup: Setup) -> None:
    setup.unknown(1)
    for _ in range(3):
        with pytest.raises(UnknownSchemaVersion, match=f"Schema version is not found.*{ENDPOINT}") as caught:
            setup.client.version(uuid(1))
        assert caught.value.version_id == uuid(1)
    setup.now = 31.0
    setup.by_id(1)
    assert setup.client.version(uuid(1)).number == 1


def test_an_invalid_id(setup: Setup) -> None:
    with pytest.raises(UnknownSchemaVersion, match="'seven' is not a schema version id"):
        setup.client.version("seven")


def test_latest_falls_back_to_the_highest_available(setup: Setup) -> None:
    setup.stub.add_response("get_schema_version", answer(3, "FAILURE"), LATEST)
    listed = [
        {"SchemaArn": answer(n)["SchemaArn"], "SchemaVersionId": str(uuid(n)), "VersionNumber": n, "Status": status}
        for n, status in [(3, "FAILURE"), (1, "AVAILABLE"), (2, "AVAILABLE")]
    ]
    setup.stub.add_response("list_schema_versions", {"Schemas": listed[:2], "NextToken": "t"}, {"SchemaId": SCHEMA_ID})
    setup.stub.add_response("list_schema_versions", {"Schemas": listed[2:]}, {"SchemaId": SCHEMA_ID, "NextToken": "t"})
    setup.by_id(1)
    setup.by_id(2)
    assert setup.client.latest("r", "s").number == 2


def test_a_schema_without_available_versions(setup: Setup) -> None:
    setup.stub.add_response("get_schema_version", answer(1, "FAILURE"), LATEST)
    setup.stub.add_response("list_schema_versions", {"Schemas": []}, {"SchemaId": SCHEMA_ID})
    with pytest.raises(NotFound, match="r/s has no AVAILABLE version: version 1 is FAILURE"):
        setup.client.latest("r", "s")


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("EntityNotFoundException", 400, NotFound),
        ("AlreadyExistsException", 400, AlreadyExists),
        ("InvalidInputException", 400, InvalidInput),
        ("ConcurrentModificationException", 400, ConcurrentModification),
        ("ResourceNumberLimitExceededException", 400, LimitExceeded),
        ("AccessDeniedException", 400, AccessDenied),
        ("UnrecognizedClientException", 400, AccessDenied),
        ("InternalServiceException", 500, EnvironmentProblem),
        ("SomethingNew", 400, InvalidInput),
    ],
)
def test_errors_keep_awss_words_and_name_the_endpoint(
    setup: Setup, code: str, status: int, kind: type[PenstockError]
) -> None:
    setup.stub.add_client_error("get_schema_version", code, "The words of AWS.", status)
    with pytest.raises(PenstockError) as caught:
        setup.client.latest("r", "s")
    assert type(caught.value) is kind
    assert "The words of AWS." in caught.value.message
    assert f"schema r/s at {ENDPOINT}" in caught.value.message


def test_no_answer_names_the_endpoint_and_the_seconds(setup: Setup) -> None:
    with (
        pytest.raises(EnvironmentProblem, match=rf"latest: {ENDPOINT} gave no usable answer in 0\.0 s"),
        translated_errors(setup.client._glue, "latest"),
    ):
        raise EndpointConnectionError(endpoint_url=ENDPOINT)


def test_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(EnvironmentProblem, match="No AWS region is set"):
        RegistryClient()
