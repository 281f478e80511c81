"""``penstock lake``: what is behind a location in S3."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import boto3
import click
from botocore.config import Config

from penstock.client.connection import default_region, translated_errors
from penstock.lake.locations import parse_uri
from penstock.lake.probe import Finding, probe
from penstock.names import DEFAULT_REGION

__all__ = ["command"]


@click.group("lake")
def command() -> None:
    """Look at the object store that a lake is in."""


@command.command("probe")
@click.option("--endpoint", metavar="URL", help="Of a store other than AWS's. [default: AWS_ENDPOINT_URL_S3]")
@click.option("--region", help="[default: AWS_REGION]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("location", metavar="s3://BUCKET/PREFIX")
def probe_command(location: str, endpoint: str | None, region: str | None, as_json: bool) -> None:
    """Try what the store can do, with a few objects below the location, which are removed again.

    The login is that of AWS's clients: variables, profile or role. The status is 0 whatever the outcome, and another one if
    the bucket cannot be listed or written.
    """
    place = parse_uri(location)
    # boto3's default makes presigned addresses of version 2, which few stores take.
    config = Config(signature_version="s3v4", retries={"total_max_attempts": 3, "mode": "standard"})
    session = boto3.session.Session()
    region = region or default_region() or session.region_name or DEFAULT_REGION
    client = session.client("s3", endpoint_url=endpoint, region_name=region, config=config)
    with translated_errors(client, location):
        findings = list(probe(client, place.bucket, place.key))
    click.echo(json.dumps([asdict(finding) for finding in findings]) if as_json else _table(findings))


def _table(findings: Sequence[Finding]) -> str:
    width = max(len(finding.title) for finding in findings)
    rows = [(finding.title, "yes" if finding.holds else "no", finding.said) for finding in findings]
    return "\n".join(f"{title:{width}}  {answer:3}  {said}".rstrip() for title, answer, said in rows)
