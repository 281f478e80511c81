"""``penstock account``: make and list a server's accounts, through its own API."""

import json
from collections.abc import Mapping
from typing import Any

import click

from penstock.errors import EnvironmentProblem

__all__ = ["command"]

_ROLE = "OrganizationAccountAccessRole"
_ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


@click.group("account")
def command() -> None:
    """Make and list the accounts of a server.

    The server and the credentials are those of the environment (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), which
    'penstock env' prints: accounts are made by the server's first one.
    """


@command.command("create")
@click.argument("name")
@click.option("--email", help="Address of whom it belongs to. [NAME@penstock.invalid]")
@click.option("--user", default="admin", show_default=True, help="Its first user, who may do everything in it.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def create(name: str, email: str | None, user: str, as_json: bool) -> None:
    """Make an account called NAME with one user, and print that user's key, which is never shown again."""
    made = _client("organizations").create_account(AccountName=name, Email=email or f"{name}@penstock.invalid")
    account = made["CreateAccountStatus"]["AccountId"]
    role = f"arn:aws:iam::{account}:role/{_ROLE}"
    given = _client("sts").assume_role(RoleArn=role, RoleSessionName="penstock-account-create")["Credentials"]
    iam = _client("iam", given)
    iam.create_user(UserName=user)
    iam.attach_user_policy(UserName=user, PolicyArn=_ADMINISTRATOR)
    key = iam.create_access_key(UserName=user)["AccessKey"]
    lake = _lake(_client("organizations"), account)
    if as_json:
        result = {"AccountId": account, "AccountName": name, "Lake": lake, "UserName": user}
        click.echo(json.dumps(result | {part: key[part] for part in ("AccessKeyId", "SecretAccessKey")}, indent=2))
        return
    click.echo(f"# Account {account} ({name}), user {user}")
    click.echo(f"# Its lake, a folder a bucket: {lake}")
    click.echo(f"export AWS_ACCESS_KEY_ID={key['AccessKeyId']}")
    click.echo(f"export AWS_SECRET_ACCESS_KEY={key['SecretAccessKey']}")
    click.echo("unset AWS_SESSION_TOKEN")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def list_all(as_json: bool) -> None:
    """List the accounts by id, each with the folder of its lake, which the server has."""
    organizations = _client("organizations")
    pages = organizations.get_paginator("list_accounts").paginate()
    found = [{part: account[part] for part in ("Id", "Name", "Email")} for page in pages for account in page["Accounts"]]
    for account in found:
        account["Lake"] = _lake(organizations, account["Id"])
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for account in found:
        click.echo(f"{account['Id']}  {account['Name']}  {account['Lake']}")


def _lake(organizations: Any, account: str) -> str:
    """The folder of the account's lake, on the server's machine."""
    tags = organizations.list_tags_for_resource(ResourceId=account)["Tags"]
    return next(str(tag["Value"]) for tag in tags if tag["Key"] == "penstock:lake")


def _client(service: str, credentials: Mapping[str, str] | None = None) -> Any:
    # Loaded when a command runs: it takes longer than all of the command line.
    from boto3.session import Session  # noqa: PLC0415

    from penstock.client.connection import open_client  # noqa: PLC0415

    given = credentials or {}
    session = Session(
        aws_access_key_id=given.get("AccessKeyId"),
        aws_secret_access_key=given.get("SecretAccessKey"),
        aws_session_token=given.get("SessionToken"),
    )
    client = open_client(service, session=session)
    if ".amazonaws.com" in client.meta.endpoint_url:
        raise EnvironmentProblem(
            "No server is named, and accounts of AWS itself are not made by this command.",
            remedy='Set AWS_ENDPOINT_URL; for a local platform: eval "$(penstock env)".',
        )
    return client
