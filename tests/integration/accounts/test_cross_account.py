"""A consumer in another account reads the schemas that its role allows, tries the rest, and is denied. All through boto3."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.access.principals import SessionContext, session_arn
from penstock.access.sessions import Sessions
from penstock.store.sql.sealing import Sealer
from tests.integration.accounts.accounts_world import EXTERNAL_ID, SENSOR, Identity, World, allow, policy


def refusal(call: Any, **arguments: Any) -> tuple[str, str, int]:
    """Return code, message and status of the error that a call has to end with."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error, metadata = caught.value.response["Error"], caught.value.response["ResponseMetadata"]
    return error["Code"], error["Message"], metadata["HTTPStatusCode"]


@pytest.fixture(scope="module")
def reader(world: World) -> Identity:
    return world.function.assume(world.role, ExternalId=EXTERNAL_ID)


def version_id(world: World, registry: str, schema: str) -> str:
    schema_version = world.producer.client("glue").get_schema_version(
        SchemaId={"RegistryName": registry, "SchemaName": schema}, SchemaVersionNumber={"LatestVersion": True}
    )
    return str(schema_version["SchemaVersionId"])


def test_reads_schemas_that_the_role_allows(world: World, reader: Identity) -> None:
    glue = reader.client("glue")
    by_arn = {"SchemaArn": world.arn("schema/streams/sensor")}
    by_name = {"RegistryName": "streams", "SchemaName": "sensor"}
    for schema_id in (by_arn, by_name):
        latest = glue.get_schema_version(SchemaId=schema_id, SchemaVersionNumber={"LatestVersion": True})
        assert json.loads(latest["SchemaDefinition"]) == SENSOR
        assert glue.get_schema(SchemaId=schema_id)["SchemaArn"] == by_arn["SchemaArn"]
        assert len(glue.list_schema_versions(SchemaId=schema_id)["Schemas"]) == 1
        schema_by_definition = glue.get_schema_by_definition(SchemaId=schema_id, SchemaDefinition=json.dumps(SENSOR))
        assert glue.get_schema_version(SchemaVersionId=schema_by_definition["SchemaVersionId"])["VersionNumber"] == 1


def test_the_consumers_identity_is_the_roles_session(world: World, reader: Identity) -> None:
    arn = f"arn:aws:sts::{world.server.account}:assumed-role/schema-reader/consumer-function"
    assert reader.client("sts").get_caller_identity()["Arn"] == arn
    own = world.function.client("sts").get_caller_identity()
    assert (own["Account"], own["Arn"]) == (
        world.consumer_account,
        f"arn:aws:iam::{world.consumer_account}:user/function",
    )


NEW = {"type": "record", "name": "Sensor", "fields": [{"name": "x", "type": "int", "default": 0}]}
OTHERS: list[tuple[str, str, dict[str, Any], str]] = [
    ("another schema", "get_schema", {"SchemaId": {"RegistryName": "streams", "SchemaName": "payments"}}, "payments"),
    ("another registry", "get_schema", {"SchemaId": {"RegistryName": "private", "SchemaName": "sensor"}}, "private"),
    ("its registry", "get_registry", {"RegistryId": {"RegistryName": "streams"}}, "registry/streams"),
    ("the list of registries", "list_registries", {}, "registry/*"),
    ("the list of schemas", "list_schemas", {"RegistryId": {"RegistryName": "streams"}}, "registry/streams"),
    ("all schemas", "list_schemas", {}, "registry/*"),
    (
        "a new version",
        "register_schema_version",
        {"SchemaId": {"RegistryName": "streams", "SchemaName": "sensor"}, "SchemaDefinition": json.dumps(NEW)},
        "registry/streams",
    ),
    (
        "a new schema",
        "create_schema",
        {"RegistryId": {"RegistryName": "streams"}, "SchemaName": "mine", "DataFormat": "AVRO", "SchemaDefinition": "{}"},
        "registry/streams",
    ),
    ("deletion", "delete_schema", {"SchemaId": {"RegistryName": "streams", "SchemaName": "sensor"}}, "registry/streams"),
    ("deletion of all", "delete_registry", {"RegistryId": {"RegistryName": "streams"}}, "registry/streams"),
    ("a new registry", "create_registry", {"RegistryName": "mine"}, "registry/mine"),
    ("the catalog", "get_databases", {}, "catalog"),
    ("rights for itself", "put_resource_policy", {"PolicyInJson": "{}"}, "catalog"),
]


@pytest.mark.parametrize(("call", "arguments", "resource"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_is_denied_the_rest(world: World, reader: Identity, call: str, arguments: dict[str, Any], resource: str) -> None:
    code, message, status = refusal(getattr(reader.client("glue"), call), **arguments)
    assert (code, status) == ("AccessDeniedException", 400)
    action = "glue:" + "".join(part.capitalize() for part in call.split("_"))
    assert message.startswith(
        f"User: arn:aws:sts::{world.server.account}:assumed-role/schema-reader/consumer-function is not authorized to "
        f"perform: {action} on resource: arn:aws:glue:{world.server.region}:{world.server.account}:"
    )
    assert message.endswith(f"because no identity-based policy allows the {action} action")
    assert resource in message


def test_is_denied_a_version_of_another_schema_by_its_id(world: World, reader: Identity) -> None:
    hidden = version_id(world, "streams", "payments")
    code, message, _ = refusal(reader.client("glue").get_schema_version, SchemaVersionId=hidden)
    assert (code, "schema/streams/payments" in message) == ("AccessDeniedException", True)
    nobodys = "00000000-0000-4000-8000-000000000000"
    assert refusal(reader.client("glue").get_schema_version, SchemaVersionId=nobodys)[0] == "AccessDeniedException"
    assert refusal(world.producer.client("glue").get_schema_version, SchemaVersionId=nobodys)[0] == "EntityNotFoundException"


@pytest.mark.parametrize("spelling", ["arn:aws-cn:glue", "arn:aws-us-gov:glue"])
def test_an_arn_of_another_partition_names_the_same_schema(world: World, reader: Identity, spelling: str) -> None:
    schema_arn = world.arn("schema/streams/payments").replace("arn:aws:glue", spelling)
    assert refusal(reader.client("glue").get_schema, SchemaId={"SchemaArn": schema_arn})[0] == "AccessDeniedException"


def test_is_denied_the_same_name_in_another_region(world: World, reader: Identity) -> None:
    elsewhere = world.arn("schema/streams/sensor", region="eu-west-1")
    code, message, _ = refusal(reader.client("glue").get_schema, SchemaId={"SchemaArn": elsewhere})
    assert (code, "eu-west-1" in message) == ("AccessDeniedException", True)


def test_without_the_role_the_other_account_is_closed(world: World) -> None:
    """Neither the function nor its account's administrator sees the producer's schemas, and their own registry is empty."""
    schema = {"SchemaArn": world.arn("schema/streams/sensor")}
    code, message, _ = refusal(world.function.client("glue").get_schema, SchemaId=schema)
    assert (code, "no identity-based policy" in message) == ("AccessDeniedException", True)
    code, message, _ = refusal(world.consumer.client("glue").get_schema, SchemaId=schema)
    assert (code, "no resource-based policy allows the glue:GetSchema action" in message) == ("AccessDeniedException", True)
    assert world.consumer.client("glue").list_schemas()["Schemas"] == []
    by_id = world.consumer.client("glue").get_schema_version
    assert refusal(by_id, SchemaVersionId=version_id(world, "streams", "sensor"))[0] == "EntityNotFoundException"


def test_accounts_have_registries_of_their_own(world: World) -> None:
    glue = world.consumer.client("glue")
    made = glue.create_registry(RegistryName="streams")
    assert made["RegistryArn"] == world.arn("registry/streams", account=world.consumer_account)
    assert (
        refusal(glue.get_schema, SchemaId={"RegistryName": "streams", "SchemaName": "sensor"})[0]
        == "EntityNotFoundException"
    )
    glue.create_database(DatabaseInput={"Name": "own"})
    theirs = world.producer.client("glue").get_databases()["DatabaseList"]
    assert "own" not in [database["Name"] for database in theirs]
    world.consumer.client("secretsmanager").create_secret(Name="broker", SecretString="s")
    code = refusal(world.producer.client("secretsmanager").get_secret_value, SecretId="broker")[0]
    assert code == "ResourceNotFoundException"
    glue.delete_registry(RegistryId={"RegistryName": "streams"})
    assert len(world.producer.client("glue").list_schemas(RegistryId={"RegistryName": "streams"})["Schemas"]) == 2


@pytest.mark.parametrize(
    "more", [{}, {"ExternalId": "another"}, {"ExternalId": EXTERNAL_ID.upper()}], ids=["none", "another", "capitals"]
)
def test_a_wrong_external_id_assumes_nothing(world: World, more: dict[str, str]) -> None:
    code, message, status = refusal(
        world.function.client("sts").assume_role, RoleArn=world.role, RoleSessionName="consumer", **more
    )
    assert (code, status) == ("AccessDenied", 403)
    assert message == (
        f"User: arn:aws:iam::{world.consumer_account}:user/function is not authorized to perform: sts:AssumeRole on "
        f"resource: {world.role}"
    )


def test_nobody_else_assumes_the_role(world: World) -> None:
    stranger = world.new_user("stranger", policy(allow("*", "*")), account=world.consumer)
    expected = {"RoleArn": world.role, "RoleSessionName": "consumer", "ExternalId": EXTERNAL_ID}
    assert refusal(stranger.client("sts").assume_role, **expected)[0] == "AccessDenied"
    assert refusal(world.consumer.client("sts").assume_role, **expected)[0] == "AccessDenied"
    missing = expected | {"RoleArn": f"{world.role}-that-is-not-there"}
    assert refusal(world.function.client("sts").assume_role, **missing)[0] == "AccessDenied"


def test_a_trusted_user_needs_permission_of_its_own_account(world: World) -> None:
    iam = world.producer.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": world.consumer_account}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName="open", AssumeRolePolicyDocument=policy(trust))
    role = f"arn:aws:iam::{world.server.account}:role/open"
    assert refusal(world.function.client("sts").assume_role, RoleArn=role, RoleSessionName="consumer")[0] == "AccessDenied"
    assert world.consumer.assume(role).client("sts").get_caller_identity()["Account"] == world.server.account


def test_a_session_policy_narrows_and_never_widens(world: World) -> None:
    one = policy(allow("glue:GetSchema", "*"))
    narrow = world.function.assume(world.role, ExternalId=EXTERNAL_ID, Policy=one).client("glue")
    assert narrow.get_schema(SchemaId={"RegistryName": "streams", "SchemaName": "sensor"})["SchemaName"] == "sensor"
    sensor = {"SchemaId": {"RegistryName": "streams", "SchemaName": "sensor"}}
    code, message, _ = refusal(narrow.list_schema_versions, **sensor)
    assert (code, "no session policy allows the glue:ListSchemaVersions" in message) == ("AccessDeniedException", True)
    payments = {"SchemaId": {"RegistryName": "streams", "SchemaName": "payments"}}
    assert "no identity-based policy" in refusal(narrow.get_schema, **payments)[1]


def test_a_changed_or_missing_token_is_refused(world: World, reader: Identity) -> None:
    token = reader.credentials["SessionToken"]
    middle = len(token) // 2
    changed = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    another = world.function.assume(world.role, ExternalId=EXTERNAL_ID).credentials["SessionToken"]
    for wrong in (changed, another, token[:-8], "AAAA", None):
        glue = reader.client("glue", aws_session_token=wrong)
        code, message, status = refusal(glue.list_registries)
        assert (code, status) == ("UnrecognizedClientException", 400)
        assert message.startswith("The security token included in the request is invalid.")
        sts = reader.client("sts", aws_session_token=wrong)
        assert refusal(sts.get_caller_identity)[::2] == ("InvalidClientTokenId", 403)


def test_an_expired_token_is_refused_and_says_so(world: World) -> None:
    role = world.producer.client("iam").get_role(RoleName="schema-reader")["Role"]
    sessions = Sessions(Sealer.of_file(Path(world.server.home) / "master.key"))
    now = int(datetime.now(UTC).timestamp())
    for expires, code in ((now + 60, None), (now - 1, "ExpiredTokenException")):
        facts = SessionContext(issued=now - 900, expires=expires, role=role["Arn"], session_name="old")
        key = sessions.issue(
            world.server.account,
            session_arn(world.server.account, "schema-reader", "old"),
            facts,
            user_id=f"{role['RoleId']}:old",
        )
        made = Identity(
            world.server,
            {"AccessKeyId": key.access_key_id, "SecretAccessKey": key.secret_access_key, "SessionToken": key.token},
        )
        if code is None:
            made.client("glue").get_schema(SchemaId={"RegistryName": "streams", "SchemaName": "sensor"})
            continue
        found, message, status = refusal(made.client("glue").list_registries)
        assert (found, message, status) == (code, "The security token included in the request is expired", 400)
        assert refusal(made.client("sts").get_caller_identity)[::2] == ("ExpiredToken", 403)


def test_a_resource_policy_opens_one_schema_to_another_account(world: World) -> None:
    glue, schema = world.producer.client("glue"), world.arn("schema/streams/payments")
    opened = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{world.consumer_account}:root"},
        "Action": ["glue:GetSchema", "glue:GetSchemaVersion"],
        "Resource": [world.arn("registry/streams"), schema],
    }
    # The request is authorized on the registry and the schema, so both need a policy.
    glue.put_resource_policy(ResourceArn=world.arn("registry/streams"), PolicyInJson=policy(opened))
    try:
        theirs = world.consumer.client("glue")
        assert theirs.get_schema(SchemaId={"SchemaArn": schema})["SchemaArn"] == schema
        latest = theirs.get_schema_version(SchemaId={"SchemaArn": schema}, SchemaVersionNumber={"LatestVersion": True})
        assert json.loads(latest["SchemaDefinition"]) == SENSOR
        for call in (theirs.list_schema_versions, theirs.delete_schema):
            assert refusal(call, SchemaId={"SchemaArn": schema})[0] == "AccessDeniedException"
        other = world.arn("schema/streams/sensor")
        assert refusal(theirs.get_schema, SchemaId={"SchemaArn": other})[0] == "AccessDeniedException"
        # The account is trusted, but the function's own policies do not allow it.
        assert (
            refusal(world.function.client("glue").get_schema, SchemaId={"SchemaArn": schema})[0] == "AccessDeniedException"
        )
    finally:
        glue.delete_resource_policy(ResourceArn=world.arn("registry/streams"))
    code, message, _ = refusal(world.consumer.client("glue").get_schema, SchemaId={"SchemaArn": schema})
    assert (code, "no resource-based policy" in message) == ("AccessDeniedException", True)


def test_an_explicit_deny_wins(world: World) -> None:
    denied = {"Effect": "Deny", "Action": "glue:*", "Resource": world.arn("schema/private/*")}
    glue = world.new_user("almost", policy(allow("*", "*"), denied)).client("glue")
    assert len(glue.list_registries()["Registries"]) >= 2
    hidden = {"RegistryName": "private", "SchemaName": "sensor"}
    code, message, _ = refusal(glue.get_schema, SchemaId=hidden)
    assert (code, message.endswith("with an explicit deny in an identity-based policy")) == ("AccessDeniedException", True)
    by_id = version_id(world, "private", "sensor")
    assert refusal(glue.get_schema_version, SchemaVersionId=by_id)[0] == "AccessDeniedException"
    chinese = world.arn("schema/private/sensor").replace("arn:aws:", "arn:aws-cn:")
    assert refusal(glue.get_schema, SchemaId={"SchemaArn": chinese})[0] == "AccessDeniedException"


def test_a_reference_to_a_schema_that_its_author_may_not_read_is_denied(world: World) -> None:
    writing = policy(
        allow("glue:*", [world.arn("registry/streams"), world.arn("schema/streams/mine")]),
        allow("glue:GetSchemaVersion", world.arn("registry/private")),
    )
    glue = world.new_user("curious", writing).client("glue")
    expected = {"RegistryId": {"RegistryName": "streams"}, "SchemaName": "mine", "DataFormat": "AVRO"}
    declared = {"penstock:references": "Sensor=private/sensor@1"}
    code, message, _ = refusal(glue.create_schema, **expected, Tags=declared)
    assert (code, "glue:GetSchemaVersion on resource" in message) == ("AccessDeniedException", True)
    glue.create_schema(**expected)
    tagged = {"ResourceArn": world.arn("schema/streams/mine"), "TagsToAdd": declared}
    assert refusal(glue.tag_resource, **tagged)[0] == "AccessDeniedException"


def test_a_table_shows_no_columns_of_a_schema_that_its_author_may_not_read(world: World) -> None:
    catalog = allow("glue:*", [world.arn("catalog"), world.arn("database/*"), world.arn("table/*")])
    world.producer.client("glue").create_database(DatabaseInput={"Name": "tables"})
    glue = world.new_user("tabulator", policy(catalog)).client("glue")
    for named in (
        {"SchemaId": {"RegistryName": "private", "SchemaName": "sensor"}, "SchemaVersionNumber": 1},
        {"SchemaVersionId": version_id(world, "private", "sensor")},
    ):
        table = {"Name": "t", "StorageDescriptor": {"SchemaReference": named}}
        code, message, _ = refusal(glue.create_table, DatabaseName="tables", TableInput=table)
        assert (code, "glue:GetSchemaVersion on resource" in message) == ("AccessDeniedException", True)
    glue.create_table(DatabaseName="tables", TableInput={"Name": "t", "StorageDescriptor": {"Columns": []}})


def test_deactivating_a_key_and_deleting_a_role_end_access(world: World) -> None:
    iam = world.producer.client("iam")
    user = world.new_user("leaver", policy(allow("glue:ListRegistries", "*")))
    key = user.credentials["AccessKeyId"]
    assert user.client("glue").list_registries()["Registries"]
    iam.update_access_key(UserName="leaver", AccessKeyId=key, Status="Inactive")
    assert refusal(user.client("glue").list_registries)[0] == "UnrecognizedClientException"
    iam.update_access_key(UserName="leaver", AccessKeyId=key, Status="Active")
    assert user.client("glue").list_registries()["Registries"]

    trust = {"Effect": "Allow", "Principal": {"AWS": world.server.account}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName="brief", AssumeRolePolicyDocument=policy(trust))
    iam.put_role_policy(RoleName="brief", PolicyName="p", PolicyDocument=policy(allow("glue:ListRegistries", "*")))
    brief = world.producer.assume(f"arn:aws:iam::{world.server.account}:role/brief")
    assert brief.client("glue").list_registries()["Registries"]
    iam.delete_role_policy(RoleName="brief", PolicyName="p")
    assert refusal(brief.client("glue").list_registries)[0] == "AccessDeniedException"
    iam.delete_role(RoleName="brief")
    # A new one with the same name is not the same.
    iam.create_role(RoleName="brief", AssumeRolePolicyDocument=policy(trust))
    iam.put_role_policy(RoleName="brief", PolicyName="p", PolicyDocument=policy(allow("glue:ListRegistries", "*")))
    assert refusal(brief.client("glue").list_registries)[0] == "UnrecognizedClientException"


def test_changes_are_recorded_as_the_sessions(world: World) -> None:
    iam = world.producer.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": world.function_arn}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName="writer", AssumeRolePolicyDocument=policy(trust))
    iam.put_role_policy(
        RoleName="writer", PolicyName="p", PolicyDocument=policy(allow("glue:CreateRegistry", world.arn("registry/from-*")))
    )
    role = f"arn:aws:iam::{world.server.account}:role/writer"
    iamc = world.consumer.client("iam")
    iamc.put_user_policy(UserName="function", PolicyName="write", PolicyDocument=policy(allow("sts:AssumeRole", role)))
    world.function.assume(role).client("glue").create_registry(RegistryName="from-afar")
    trail = world.producer.client("cloudtrail")
    lookup = trail.lookup_events(LookupAttributes=[{"AttributeKey": "ResourceName", "AttributeValue": "registry/from-afar"}])
    record = json.loads(lookup["Events"][0]["CloudTrailEvent"])
    assert record["userIdentity"]["arn"] == f"arn:aws:sts::{world.server.account}:assumed-role/writer/consumer-function"
    assumed = trail.lookup_events(LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": "AssumeRole"}])
    event = json.loads(assumed["Events"][0]["CloudTrailEvent"])
    assert event["userIdentity"]["arn"] == world.function_arn
    assert event["eventSource"] == "sts.amazonaws.com"
