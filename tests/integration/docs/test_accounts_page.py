"""The page on accounts works: its blocks run in order, in one shell, against a real server."""

from pathlib import Path

from penstock.testing.server import running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "accounts.md"


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "server") as server:
        done = run_page(PAGE, tmp_path, reader_environment() | server.environment(), seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    said, prefix = done.stdout, f"arn:aws:glue:{server.region}:{server.account}"
    assert f"{server.account}  penstock" in said
    assert f"role arn:aws:iam::{server.account}:role/schema-reader" in said
    assert f"read {prefix}:schema/streams/sensor" in said
    assert f"User: arn:aws:sts::{server.account}:assumed-role/schema-reader/consumer is not authorized to perform" in said
    why = "because no identity-based policy allows the glue:GetSchema action"
    assert f"perform: glue:GetSchema on resource: {prefix}:schema/streams/payments {why}" in said
    assert '"arn": "arn:aws:iam::' in said
    assert "payments\ndenied, as it should be" in said
    assert "no resource-based policy allows the glue:ListSchemas action" in done.stderr
    assert "warmth\n25.0\nthe first account has no such table" in said
