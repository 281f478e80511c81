"""Several workers of one server, first asked for several accounts all at once."""

import threading

from botocore.exceptions import ClientError

from penstock.testing.server import running_server
from tests.integration.accounts.accounts_world import Identity


def test_accounts_start_in_every_worker_once() -> None:
    with running_server(arguments=["--workers", "2"]) as server:
        credentials = {"AccessKeyId": server.access_key_id, "SecretAccessKey": server.secret_access_key}
        root = Identity(server, credentials)
        organizations = root.client("organizations")
        accounts = [
            organizations.create_account(AccountName=f"a{number}", Email="a@example.com")["CreateAccountStatus"]["AccountId"]
            for number in range(2)
        ]
        roles = [f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole" for account in accounts]
        clients = [(role, root.assume(role).client("glue")) for role in roles for _ in range(4)]
        seen: list[tuple[str, list[str]]] = []
        wrong: list[BaseException] = []

        def use(role: str, glue: object) -> None:
            try:
                try:
                    glue.create_registry(RegistryName="r")  # type: ignore[attr-defined]
                except ClientError as error:
                    if error.response["Error"]["Code"] != "AlreadyExistsException":
                        raise
                arns = [registry["RegistryArn"] for registry in glue.list_registries()["Registries"]]  # type: ignore[attr-defined]
                seen.append((role, arns))
            except BaseException as error:  # noqa: BLE001 -- raised below
                wrong.append(error)

        threads = [threading.Thread(target=use, args=pair) for pair in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]
        assert len(seen) == 8
        for role, arns in seen:
            assert arns == [f"arn:aws:glue:{server.region}:{role.split(':')[4]}:registry/r"]
