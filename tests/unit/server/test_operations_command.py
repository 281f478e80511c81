"""``penstock operations``."""

import json

from click.testing import CliRunner

from penstock.api.aws.protocol.models import load_model
from penstock.cli.server.operations import command


def test_lists_every_operation_of_aws_as_json() -> None:
    listed = json.loads(CliRunner().invoke(command, ["--json"]).stdout)
    others = {"iam", "lakeformation", "logs", "organizations", "resourcegroupstaggingapi", "secretsmanager", "sts"}
    assert set(listed) == {"athena", "cloudtrail", "glue", *others}
    assert set(listed["glue"]) == set(load_model("glue").operations)
    assert listed["glue"]["GetSchemaVersion"] is True
    assert listed["glue"]["CreateBlueprint"] is False
    registry = [name for name in listed["glue"] if "Schema" in name or "Registr" in name]
    assert [name for name in registry if not listed["glue"][name]] in ([], ["GetUnfilteredSchemaMetadata"])


def test_counts_what_is_served_and_what_is_not() -> None:
    shown = CliRunner().invoke(command, ["secretsmanager"]).stdout
    assert "secretsmanager" in shown
    assert "glue" not in shown
    assert "ReplicateSecretToRegions" not in shown
    assert "ReplicateSecretToRegions" in CliRunner().invoke(command, ["--missing", "secretsmanager"]).stdout


def test_refuses_a_service_it_does_not_know() -> None:
    result = CliRunner().invoke(command, ["s3"])
    assert result.exit_code == 2
    assert (
        "known are athena, cloudtrail, glue, iam, lakeformation, logs, organizations, resourcegroupstaggingapi, "
        "secretsmanager, sts" in result.stderr
    )
