"""Plain HTTP requests with a bearer token: what no client library sends."""

from typing import Any

import requests

from tests.integration.iceberg.world import KEY, SECRET, World

__all__ = ["SCHEMA", "Client", "get_token"]

SCHEMA: dict[str, Any] = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}


def get_token(world: World, key: str = KEY, secret: str = SECRET) -> str:
    """Return a bearer token for an access key."""
    form = {"grant_type": "client_credentials", "client_id": key, "client_secret": secret, "scope": "catalog"}
    answer = requests.post(f"{world.uri}/v1/oauth/tokens", data=form, timeout=10)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


class Client:
    """Sends requests below the catalog's own prefix."""

    def __init__(self, world: World, token: str | None = None) -> None:
        self._base = f"{world.uri}/v1/catalogs/{world.server.account}"
        self._token = get_token(world) if token is None else token

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        """Return the answer; underscores in the names of headers stand for dashes."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.request(
            method,
            f"{self._base}{path}",
            json=body,
            headers={"Authorization": f"Bearer {self._token}", **given},
            timeout=30,
        )

    def get(self, path: str, **headers: str) -> requests.Response:
        """Send a GET."""
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> requests.Response:
        """Send a POST."""
        return self.send("POST", path, body, **headers)

    def make_table(self, namespace: str, name: str, **more: Any) -> dict[str, Any]:
        """Create a table, and return the answer."""
        answer = self.post(f"/namespaces/{namespace}/tables", {"name": name, "schema": SCHEMA, **more})
        assert answer.status_code == 200, answer.text
        results: dict[str, Any] = answer.json()
        return results
