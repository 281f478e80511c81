"""Confluent's API over a registry in memory, for its tests."""

import json
from typing import Any

from starlette.testclient import TestClient

from penstock.api.confluent.app import ConfluentApp
from penstock.registry.service import RegistryService
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database

V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'
V3 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"c","type":"long","default":0}]}'
BROKEN = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'


class Recorder:
    """An observer that keeps the completed requests."""

    def __init__(self) -> None:
        self.served: list[Any] = []
        self.running = 0

    def started(self) -> None:
        self.running += 1

    def finished(self, served: Any) -> None:
        self.running -= 1
        self.served.append(served)


class ConfluentApi:
    """Short calls: ``api.post(path, schema=...)`` gives (status, answer)."""

    def __init__(self, *, keys: Any = None) -> None:
        self.service = RegistryService(SqlRegistryStore(new_database()))
        self.observer = Recorder()
        self.app = ConfluentApp(self.service, keys=keys, account="000000000000", observer=self.observer)
        self.http = TestClient(self.app, base_url="http://127.0.0.1")

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content is not None:
            named.setdefault("content-type", "application/vnd.schemaregistry.v1+json")
        answer = self.http.request(method, path, content=content, headers=named)
        return answer.status_code, json.loads(answer.content) if answer.content else None

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.call("GET", path, **headers)

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.call("POST", path, body)

    def put(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.call("PUT", path, body)

    def delete(self, path: str) -> tuple[int, Any]:
        return self.call("DELETE", path)

    def register(self, subject: str, schema: str, **body: Any) -> Any:
        status, answer = self.post(f"/subjects/{subject}/versions", schema=schema, **body)
        assert status == 200, answer
        return answer

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, int]:
        """Status and error code."""
        status, answer = self.call(method, path, body)
        assert set(answer) <= {"error_code", "message", "incompatibilities"}, answer
        assert answer["message"]
        return status, answer["error_code"]
