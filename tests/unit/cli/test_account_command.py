"""``penstock account`` is refused at AWS itself; what it does at a server is tested with docs/operations/accounts.md."""

import pytest
from click.testing import CliRunner

from penstock.cli.server.account import command
from penstock.errors import EnvironmentProblem


@pytest.mark.parametrize("arguments", [["create", "consumer"], ["list"]])
def test_asks_nothing_of_aws_itself(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    with pytest.raises(EnvironmentProblem, match="Set AWS_ENDPOINT_URL"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
