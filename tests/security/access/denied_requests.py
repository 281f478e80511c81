"""What a Deny is attacked with: each operation that is served, on a thing that is hidden."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore import xform_name

from tests.security.access import denied_identities

__all__ = ["HIDDEN", "MADE", "SHOWN", "Arguments", "World", "connection", "make"]

HIDDEN = "hushed"


SHOWN = "plain"


Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class World:
    """A user who may do everything, except on resources with ``hushed`` in their name."""

    target: Any
    key: Mapping[str, str]
    database: str
    registry: str
    version_id: str
    secret: str
    """The name of everything that is hidden, but for tables, schemas and functions."""
    shown: str
    hidden_account: str
    query_id: str
    """A statement of the hidden work group."""
    named_query_id: str
    """A named query of the hidden work group."""

    def client(self, service: str) -> Any:
        return self.target.client(
            service, access_key_id=self.key["AccessKeyId"], secret_access_key=self.key["SecretAccessKey"]
        )

    def call(self, service: str, operation: str, arguments: Arguments) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = getattr(self.client(service), xform_name(operation))(**arguments)
        return answer


MADE: dict[str, World] = {}


def make(target: Any) -> World:
    glue, iam, secrets = (target.client(service) for service in ("glue", "iam", "secretsmanager"))
    mark = uuid.uuid4().hex[:8]
    database, registry = f"deny_{mark}", f"deny-{mark}"
    glue.create_database(DatabaseInput={"Name": database})
    glue.create_database(DatabaseInput={"Name": f"{HIDDEN}_{mark}"})
    for name in (SHOWN, HIDDEN):
        glue.create_table(
            DatabaseName=database,
            TableInput={"Name": name, "PartitionKeys": [{"Name": "p", "Type": "string"}], "StorageDescriptor": {}},
        )
        glue.create_user_defined_function(DatabaseName=database, FunctionInput={"FunctionName": name})
    glue.create_registry(RegistryName=registry)
    glue.create_registry(RegistryName=f"{HIDDEN}-{mark}")
    for name in (SHOWN, HIDDEN):
        made = glue.create_schema(
            RegistryId={"RegistryName": registry}, SchemaName=name, DataFormat="AVRO", SchemaDefinition='"int"'
        )
    for name in (SHOWN, HIDDEN):
        target.client("logs").create_log_group(logGroupName=f"{name}-{mark}", tags={"a": "b"})
        glue.create_crawler(
            Name=f"{name}-{mark}",
            Role="crawler",
            DatabaseName=database,
            Targets={"S3Targets": [{"Path": f"s3://lake/{database}/"}]},
        )
        glue.create_job(Name=f"{name}-{mark}", Role="etl", Command={"ScriptLocation": "s3://lake/a.py"})
        glue.create_data_quality_ruleset(Name=f"{name}-{mark}", Ruleset="Rules = [ RowCount > 0 ]")
        glue.create_workflow(Name=f"{name}-{mark}")
        glue.create_trigger(Name=f"{name}-{mark}", Type="ON_DEMAND", Actions=[{"JobName": f"{SHOWN}-{mark}"}])
        glue.create_connection(ConnectionInput=connection(f"{name}-{mark}"))
        secrets.create_secret(Name=f"{name}-{mark}", SecretString="x")
    query_id, named_query_id = _work_groups(target.client("athena"), target.account, mark)
    hidden_account = denied_identities.make_identities(target, f"{SHOWN}-{mark}", f"{HIDDEN}-{mark}")
    user = f"deny-{mark}"
    iam.create_user(UserName=user)
    statements = [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        # In capitals, which names of Glue's catalog have not.
        {
            "Effect": "Deny",
            "Action": "*",
            "Resource": [
                f"arn:aws:glue:*:*:table/{database.upper()}/{HIDDEN.upper()}",
                f"arn:aws:glue:*:*:database/{HIDDEN.upper()}*",
                f"arn:aws:glue:*:*:userDefinedFunction/{database.upper()}/{HIDDEN.upper()}",
                f"arn:aws:glue:*:*:schema/{registry}/{HIDDEN}",
                f"arn:aws:glue:*:*:registry/{HIDDEN}*",
                f"arn:aws:glue:*:*:crawler/{HIDDEN}*",
                f"arn:aws:glue:*:*:connection/{HIDDEN}*",
                *(
                    f"arn:aws:glue:*:*:{kind}/{HIDDEN}*"
                    for kind in ("job", "session", "trigger", "workflow", "dataQualityRuleset")
                ),
                f"arn:aws:logs:*:*:log-group:/aws-glue/jobs/output:log-stream:{HIDDEN}*",
                f"arn:aws:logs:*:*:log-group:{HIDDEN}*",
                f"arn:aws:athena:*:*:workgroup/{HIDDEN}*",
                f"arn:aws:athena:*:*:datacatalog/{HIDDEN}*",
                f"arn:aws:secretsmanager:*:*:secret:{HIDDEN}*",
                *(f"arn:aws:iam::*:{kind}/{HIDDEN}*" for kind in ("user", "role", "group", "policy")),
                *(f"arn:aws:iam::*:{kind}/{HIDDEN}*" for kind in ("instance-profile", "oidc-provider")),
                f"arn:aws:sts::*:federated-user/{HIDDEN}*",
                f"arn:aws:organizations::*:account/*/{hidden_account}",
            ],
        },
    ]
    iam.put_user_policy(
        UserName=user, PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements})
    )
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return World(
        target=target,
        key=key,
        database=database,
        registry=registry,
        version_id=made["SchemaVersionId"],
        secret=f"{HIDDEN}-{mark}",
        shown=f"{SHOWN}-{mark}",
        hidden_account=hidden_account,
        query_id=query_id,
        named_query_id=named_query_id,
    )


def _work_groups(athena: Any, account: str, mark: str) -> tuple[str, str]:
    """Create a shown and a hidden work group and data catalog; return ids of a statement and a query."""
    results = {"ResultConfiguration": {"OutputLocation": "s3://lake/athena-results/"}}
    for name in (SHOWN, HIDDEN):
        athena.create_work_group(Name=f"{name}-{mark}", Configuration=results)
        own = {"catalog-id": account}
        athena.create_data_catalog(Name=f"{name}-{mark}", Type="GLUE", Parameters=own)
    group = {"WorkGroup": f"{HIDDEN}-{mark}"}
    athena.create_prepared_statement(StatementName="by_id", QueryStatement="SELECT ?", **group)
    named = athena.create_named_query(Name="saved", Database="default", QueryString="SELECT 1", **group)
    started = athena.start_query_execution(QueryString="SELECT 1", **group)
    return started["QueryExecutionId"], named["NamedQueryId"]


def connection(name: str) -> dict[str, Any]:
    return {
        "Name": name,
        "ConnectionType": "KAFKA",
        "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092", "KAFKA_SSL_ENABLED": "false"},
    }
