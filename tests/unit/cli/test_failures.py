"""Every exception that reaches the command line is one sentence with a remedy and an exit code."""

import errno
import json
from pathlib import Path
from typing import Any

import click
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError
from sqlalchemy.exc import ArgumentError, OperationalError

from penstock.cli.failures import explained
from penstock.cli.main import cli, main
from penstock.errors import AccessDenied, EnvironmentProblem, InternalError, InvalidInput, NotFound, PenstockError
from penstock.settings.home import Home, PlatformConfig


def _refused(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "Said so."}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "GetTable")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/lake/x"), EnvironmentProblem, ["/lake/x", "Free space"]),
        (PermissionError(errno.EACCES, "Permission denied", "/home/x"), EnvironmentProblem, ["/home/x", "permissions"]),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/f/x"), EnvironmentProblem, ["/f/x", "Check the path"]),
        (OSError(errno.EMFILE, "Too many open files"), EnvironmentProblem, ["ulimit"]),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), EnvironmentProblem, ["penstock status"]),
        (MemoryError(), EnvironmentProblem, ["memory"]),
        (EndpointConnectionError(endpoint_url="http://h:1/"), EnvironmentProblem, ["http://h:1/", "penstock status"]),
        (NoCredentialsError(), EnvironmentProblem, ["AWS_ACCESS_KEY_ID"]),
        (NoRegionError(), EnvironmentProblem, ["AWS_REGION"]),
        (_refused("AccessDeniedException"), AccessDenied, ["Said so.", "GetTable", "access key"]),
        (_refused("EntityNotFoundException"), NotFound, ["Said so.", "GetTable"]),
        (_refused("InternalFailure", 500), EnvironmentProblem, ["InternalFailure", "/readyz"]),
        (_refused("Strange"), InvalidInput, ["Strange", "Said so."]),
        (OperationalError("select", {}, Exception("database disk image is malformed")), EnvironmentProblem, ["malformed"]),
        (ArgumentError("Could not parse"), InvalidInput, ["--store-url"]),
        (ValueError("odd\nsecond line"), InternalError, ["ValueError: odd", "PENSTOCK_DEBUG=1"]),
    ],
)
def test_an_exception_is_a_sentence_and_a_remedy(error: Exception, kind: type[PenstockError], words: list[str]) -> None:
    problem = explained(error)
    assert type(problem) is kind
    assert all(word in str(problem) for word in words), str(problem)
    assert "\n" not in str(problem)
    assert ".." not in str(problem)


def test_ours_stay_as_they_are() -> None:
    error = NotFound("No such thing.")
    assert explained(error) is error


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes ``penstock operations`` raise."""

    def make(error: BaseException) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli, "get_command", lambda *_: click.Command("operations", callback=fail))

    return make


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 3),
        (NoCredentialsError(), 3),
        (_refused("EntityNotFoundException"), 1),
        (RuntimeError("odd"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_main_shows_one_line_and_ends_with_the_code(
    failing: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int
) -> None:
    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)
    failing(error)
    with pytest.raises(SystemExit) as caught:
        main(["operations"])
    assert caught.value.code == status
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("penstock: ")


def test_debug_shows_the_traceback(failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DEBUG", "1")
    failing(RuntimeError("odd"))
    with pytest.raises(RuntimeError, match="odd"):
        main(["operations"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"server_port": "8750"}, "server_port is '8750'"),
        ({"kafka_port": 70000}, "kafka_port is 70000"),
        ({"kafka_password": None}, "kafka_password is None"),
        ({"s3_port": True}, "s3_port is True"),
    ],
)
def test_an_invalid_value_of_platform_json_is_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    home = Home(tmp_path)
    home.save(PlatformConfig.generate())
    raw = json.loads(home.config_file.read_text())
    home.config_file.write_text(json.dumps(raw | change))
    with pytest.raises(InvalidInput) as caught:
        home.load()
    assert words in str(caught.value)
    assert str(home.config_file) in str(caught.value)


def test_an_invalid_region_is_refused_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["up", "--home", str(tmp_path / "home"), "--region", "bad region!"])
    assert caught.value.code == 2
    assert "not an AWS region" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()
