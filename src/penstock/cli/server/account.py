"""``penstock account``: creates and lists a server's accounts, through its own API."""

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
    """Create and list the accounts of a server.

    The environment names the server and the credentials (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), as 'penstock env'
    prints them. Only the server's first account creates accounts.
    """


@command.command("create")
@click.argument("name")
@click.option("--email", help="E-mail address of the owner. [NAME@penstock.invalid]")
@click.option("--user", default="admin", show_default=True, help="Name of the first user, an administrator of the account.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def create(name: str, email: str | None, user: str, as_json: bool) -> None:
    """Create an account called NAME with one user, and print that user's key, which is never shown again."""
    status = _client("organizations").create_account(AccountName=name, Email=email or f"{name}@penstock.invalid")
    account = status["CreateAccountStatus"]["AccountId"]
    role = f"arn:aws:iam::{account}:role/{_ROLE}"
    credentials = _client("sts").assume_role(RoleArn=role, RoleSessionName="penstock-account-create")["Credentials"]
    iam = _client("iam", credentials)
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
    """List the accounts by id, each with the folder of its lake on the server's machine."""
    organizations = _client("organizations")
    pages = organizations.get_paginator("list_accounts").paginate()
    accounts = [{part: account[part] for part in ("Id", "Name", "Email")} for page in pages for account in page["Accounts"]]
    for account in accounts:
        account["Lake"] = _lake(organizations, account["Id"])
    if as_json:
        click.echo(json.dumps(accounts, indent=2))
        return
    for account in accounts:
        click.echo(f"{account['Id']}  {account['Name']}  {account['Lake']}")


def _lake(organizations: Any, account: str) -> str:
    """Return the folder of the account's lake, on the server's machine."""
    tags = organizations.list_tags_for_resource(ResourceId=account)["Tags"]
    return next(str(tag["Value"]) for tag in tags if tag["Key"] == "penstock:lake")


def _client(service: str, credentials: Mapping[str, str] | None = None) -> Any:
    # Imported when a command runs: it takes longer than the rest of the command line.
    from boto3.session import Session  # noqa: PLC0415

    from penstock.client.connection import open_client  # noqa: PLC0415

    keys = credentials or {}
    session = Session(
        aws_access_key_id=keys.get("AccessKeyId"),
        aws_secret_access_key=keys.get("SecretAccessKey"),
        aws_session_token=keys.get("SessionToken"),
    )
    client = open_client(service, session=session)
    if ".amazonaws.com" in client.meta.endpoint_url:
        raise EnvironmentProblem(
            "No server is named; this command does not create accounts at AWS.",
            remedy='Set AWS_ENDPOINT_URL; for a local platform: eval "$(penstock env)".',
        )
    return client
