"""The JSON protocol's dispatcher, called as ASGI without a socket."""

import threading
from typing import Any

import orjson
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest

from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.errors import UnknownOperation
from penstock.api.aws.protocol.operations import OperationSet
from penstock.errors import EnvironmentProblem, InternalError, InvalidInput, NotFound
from tests.unit.api.aws.protocol.dispatcher import CREDENTIALS, ID, KEY, Handlers, World


class SchemaMissing(NotFound):
    """A class without its own code has its ancestor's."""


def test_answers_with_the_output_shape(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    assert answer.status == 200
    assert answer.body == ID | {"VersionNumber": 1}
    assert answer.headers["content-type"] == "application/x-amz-json-1.1"
    assert len(answer.headers["x-amzn-requestid"]) == 36


def test_the_handler_gets_the_caller(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    request, context, _ = world.handlers.seen[0]
    assert request == ID
    assert (context.service, context.operation, context.account, context.region, context.principal) == (
        "glue",
        "GetSchemaVersion",
        KEY.account,
        "us-east-1",
        KEY.principal,
    )
    assert context.request_id == answer.headers["x-amzn-requestid"]


def test_runs_inline_operations_on_the_loop_and_others_on_threads(world: World) -> None:
    world.call("AWSGlue.GetSchemaVersion", ID)
    world.call("AWSGlue.RegisterSchemaVersion", {"SchemaId": {}, "SchemaDefinition": "x"})
    assert [thread == threading.main_thread().name for *_, thread in world.handlers.seen] == [True, False]
    assert world.handlers.seen[1][2].startswith("penstock-api")


def test_an_inline_operation_that_takes_longer_is_called_again_on_a_thread(world: World) -> None:
    world.handlers.longer = True
    assert world.call("AWSGlue.GetSchemaVersion", ID).status == 200
    assert [thread == threading.main_thread().name for *_, thread in world.handlers.seen] == [True, False]


def test_answers_json_1_0_in_kind(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID, **{"Content-Type": "application/x-amz-json-1.0"})
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"


def test_renders_an_error_from_its_class(world: World) -> None:
    world.handlers.failure = SchemaMissing("Schema is not found.", remedy="Create it.")
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    assert answer.status == 400
    assert answer.body == {"__type": "EntityNotFoundException", "Message": "Schema is not found. Create it."}
    assert answer.headers["x-amzn-errortype"] == "EntityNotFoundException"


@pytest.mark.parametrize(
    ("target", "service", "body", "code"),
    [
        ("AWSGlue.GetSchemaVersion", "glue", ID, "InternalServiceException"),
        ("AmazonAthena.GetQueryExecution", "athena", {"QueryExecutionId": "x"}, "InternalServerException"),
        ("secretsmanager.GetSecretValue", "secretsmanager", {"SecretId": "x"}, "InternalServiceError"),
    ],
)
@pytest.mark.parametrize("failure", [KeyError("password123"), InternalError("password123"), EnvironmentProblem("disk")])
def test_a_defect_is_the_services_own_fault(  # noqa: PLR0917 -- pytest passes by name
    world: World, target: str, service: str, body: Any, code: str, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world.handlers.failure = failure
    answer = world.call(target, body, service=service)
    assert (answer.status, answer.body["__type"]) == (500, code)
    assert answer.headers["x-amzn-requestid"] in caplog.text
    if isinstance(failure, KeyError):
        assert "password123" not in answer.message
        assert answer.headers["x-amzn-requestid"] in answer.message


def test_athenas_bad_input_has_athenas_code(world: World) -> None:
    world.handlers.failure = InvalidInput("no")
    answer = world.call("AmazonAthena.GetQueryExecution", {"QueryExecutionId": "x"}, service="athena")
    assert answer.body == {"__type": "InvalidRequestException", "Message": "no"}
    answer = world.call("AmazonAthena.GetQueryExecution", {}, service="athena")
    assert answer.body["__type"] == "InvalidRequestException"
    assert "Value null at 'queryExecutionId'" in answer.message


def test_distinguishes_unknown_operations_from_those_not_served(world: World) -> None:
    answer = world.call("AWSGlue.CreateBlueprint")
    assert answer.body["__type"] == "UnknownOperationException"
    assert (
        "CreateBlueprint is an operation of glue that Penstock does not serve yet. 'penstock operations'" in answer.message
    )
    answer = world.call("AWSGlue.CreateEverything")
    assert (answer.body["__type"], answer.message) == (
        "UnknownOperationException",
        "glue has no operation 'CreateEverything'.",
    )
    answer = world.call("AmazonS3.GetObject")
    assert (
        "Known prefixes: AWSGlue, AWSOrganizationsV20161128, AmazonAthena, Logs_20140328, ResourceGroupsTaggingAPI_2017"
        in answer.message
    )
    answer = world.call("")
    assert "names no operation" in answer.message
    assert world.handlers.seen == []


def test_does_not_reveal_to_strangers_what_is_served(world: World) -> None:
    answer = world.send(AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.CreateBlueprint"}, b"{}"))
    assert (answer.status, answer.body["__type"]) == (400, "MissingAuthenticationTokenException")


def test_refuses_a_signature_of_another_service(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID, service="athena")
    assert (answer.body["__type"], "correct service: 'glue'" in answer.message) == ("InvalidSignatureException", True)
    assert world.handlers.seen == []


@pytest.mark.parametrize("body", [b"{", b"\xff", b"nul", b'{"a":1}x'])
def test_refuses_bodies_that_are_not_json(world: World, body: bytes) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", body)
    assert (answer.status, answer.body["__type"]) == (400, "SerializationException")
    assert "not JSON" in answer.message


def test_joins_a_body_that_comes_in_pieces(world: World) -> None:
    data = orjson.dumps(ID)
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, data)
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made, chunks=[data[:9], data[9:], b""]).status == 200


def test_a_client_that_disconnects_is_not_an_error(world: World) -> None:
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, b"")
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made, chunks=[]).status == 0
    assert world.noted.served[0].code == "ClientGone"


def test_takes_the_members_of_a_presigned_url(world: World) -> None:
    made = AWSRequest("GET", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, orjson.dumps(ID))
    SigV4QueryAuth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made).status == 200
    assert world.handlers.seen[0][0] == ID


def test_counts_and_times_every_request(world: World) -> None:
    world.call("AWSGlue.GetSchemaVersion", ID)
    world.call("AWSGlue.CreateBlueprint")
    world.call("AWSGlue.MadeUp")
    assert [(pair.service, pair.operation, pair.code, pair.status) for pair in world.noted.served] == [
        ("glue", "GetSchemaVersion", "OK", 200),
        ("glue", "CreateBlueprint", "UnknownOperationException", 400),
        ("glue", "unknown", "UnknownOperationException", 400),
    ]
    assert world.noted.in_flight == 0


def test_without_authentication_everybody_is_anonymous() -> None:
    world = World(authenticated=False)
    answer = world.send(
        AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, orjson.dumps(ID))
    )
    assert answer.status == 200
    assert (world.handlers.seen[0][1].principal, world.handlers.seen[0][1].account) == ("anonymous", "000000000000")
    world.app.close()


def test_a_handler_without_an_operation_is_a_mistake_found_at_start() -> None:
    with pytest.raises(ValueError, match="glue has no operation GetSchemaVersoin"):
        EndpointTable([OperationSet(service="glue", handlers={"GetSchemaVersoin": Handlers()})])
    twice = OperationSet(service="glue", handlers={"GetSchemaVersion": Handlers()})
    with pytest.raises(ValueError, match="served twice"):
        EndpointTable([twice, twice])


@pytest.mark.parametrize(
    ("service", "operation", "arguments"),
    [
        ("dynamodb", "list_tables", {}),
        ("ssm", "get_parameter", {"Name": "/a"}),
        ("events", "list_rules", {}),
        ("stepfunctions", "list_state_machines", {}),
        ("kinesis", "list_streams", {}),
        ("sqs", "list_queues", {}),
        ("firehose", "list_delivery_streams", {}),
        ("kms", "list_keys", {}),
        ("redshift-data", "list_statements", {}),
    ],
)
def test_a_service_that_is_not_served_is_refused_by_name_with_the_variable_of_its_endpoint(
    service: str, operation: str, arguments: dict[str, str]
) -> None:
    """The targets and the variables are boto3's own."""
    from botocore.loaders import create_loader
    from botocore.model import ServiceModel

    model = ServiceModel(create_loader().load_service_model(service, "service-2"), service)
    name = "".join(part.capitalize() for part in operation.split("_"))
    target = f"{model.metadata['targetPrefix']}.{name}"
    assert name in model.operation_names
    with pytest.raises(UnknownOperation) as refused:
        EndpointTable([]).service_of(target)
    variable = f"AWS_ENDPOINT_URL_{model.service_id.hyphenize().upper().replace('-', '_')}"
    assert variable in str(refused.value)
    assert target in str(refused.value)
