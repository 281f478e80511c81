"""``penstock env`` points Confluent's tools at the server that AWS's clients use."""

import json
from pathlib import Path

from click.testing import CliRunner

from penstock.cli.platform.env import command
from penstock.settings.home import Home, PlatformConfig


def test_confluents_variables_are_printed(tmp_path: Path) -> None:
    config = PlatformConfig.generate(server_port=18750)
    Home(tmp_path).save(config)
    done = CliRunner().invoke(command, ["--home", str(tmp_path), "--format", "json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.output)
    assert printed["SCHEMA_REGISTRY_URL"] == printed["AWS_ENDPOINT_URL"] == config.endpoint_url
    assert printed["SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] == f"{config.access_key_id}:{config.secret_access_key}"
