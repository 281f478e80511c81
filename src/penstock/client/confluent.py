"""A cached client of Confluent's REST API, as far as serdes need it: texts by id or GUID, ids of definitions.

It implements :class:`penstock.serdes.ports.ConfluentSource` and :class:`penstock.serdes.ports.ConfluentRegistrar`, for any
registry with that API, Penstock's included.
API: https://docs.confluent.io/platform/current/schema-registry/develop/api.html
"""

import base64
import json
import time
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import UUID

from penstock import __version__
from penstock.client.cache import OnceCache
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput, NotFound, PenstockError
from penstock.retries import CONFLUENT_CALL, call_with_retries
from penstock.schema.format import ReferencedText
from penstock.schema.version import SchemaText

__all__ = ["ConfluentClient"]

_MAX_ANSWER = 8 * 1024 * 1024
_MAX_REFERENCES = 1_000
_MAX_DEPTH = 100
_WORTH_ANOTHER_TRY = frozenset({429, 500, 502, 503, 504})


class ConfluentClient:
    """Reads and registers schemas at ``url``; safe for threads.

    ``user_info`` is ``USER:PASSWORD`` for HTTP Basic (on Penstock an access key's id and secret); the URL may have it
    instead. Ids are looked up in ``context``, written without dots; None is the default one. The text of an id never
    changes and is cached (``cache_size`` texts); an unknown id is remembered for ``unknown_seconds``. A call takes at most
    ``attempts`` attempts of ``timeout_seconds`` each.
    """

    def __init__(
        self,
        url: str,
        *,
        user_info: str | None = None,
        context: str | None = None,
        cache_size: int = 1000,
        unknown_seconds: float = 30.0,
        timeout_seconds: float = 30.0,
        attempts: int = 3,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises :class:`InvalidInput` for an invalid URL; sends no request yet."""
        self.url, inside = _address(url)
        login = user_info if user_info is not None else inside
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json", "User-Agent": f"penstock/{__version__}"}
        if login:
            self._headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        self._scope = f"?subject={quote(f':.{context}:', safe='')}" if context else ""
        self._timeout = timeout_seconds
        self._policy = replace(CONFLUENT_CALL, attempts=attempts)
        self._sleep = sleep
        self._opener = build_opener(_NoRedirects)
        self._texts: OnceCache[int | UUID, SchemaText] = OnceCache(cache_size)
        self._unknown: OnceCache[int | UUID, str] = OnceCache(cache_size, seconds=unknown_seconds, clock=clock)

    def text(self, schema_id: int | UUID) -> SchemaText:
        """Return the definition with this id or GUID; :class:`NotFound` if it does not exist."""
        unknown = self._unknown.peek(schema_id)
        if unknown is not None:
            raise NotFound(unknown)
        return self._texts.get(schema_id, lambda: self._fetch(schema_id))

    def find(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """Return the id, and the GUID if the registry has GUIDs, of a subject's definition; :class:`NotFound`."""
        return _ids(self._ask("POST", f"/subjects/{quote(subject, safe='')}", _body(definition, data_format)))

    def register(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """Like :meth:`find`, but register a new definition; :class:`InvalidInput` if the subject refuses it."""
        return _ids(self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", _body(definition, data_format)))

    def _fetch(self, schema_id: int | UUID) -> SchemaText:
        path = f"/schemas/guids/{schema_id}" if isinstance(schema_id, UUID) else f"/schemas/ids/{schema_id}{self._scope}"
        try:
            answer = self._ask("GET", path)
        except NotFound as error:
            self._unknown.put(schema_id, error.message)
            raise
        references: dict[tuple[str, int], ReferencedText] = {}
        self._collect(answer, references, set(), 0)
        return SchemaText(
            definition=_member(answer, "schema", str),
            data_format=answer.get("schemaType") or "AVRO",
            references=tuple(references.values()),
        )

    def _collect(
        self,
        answer: dict[str, Any],
        collected: dict[tuple[str, int], ReferencedText],
        above: set[tuple[str, int]],
        depth: int,
    ) -> None:
        """Add the definitions that ``answer`` refers to to ``collected``, each after those that it refers to itself."""
        for reference in answer.get("references") or ():
            subject, number = _member(reference, "subject", str), _member(reference, "version", int)
            place = (subject, number)
            if place in collected:
                continue
            if place in above or depth >= _MAX_DEPTH or len(collected) >= _MAX_REFERENCES:
                raise EnvironmentProblem(f"{self.url}: {subject} version {number} has circular or too many references.")
            inner = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/{number}")
            self._collect(inner, collected, above | {place}, depth + 1)
            collected[place] = ReferencedText(name=_member(reference, "name", str), text=_member(inner, "schema", str))

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        value = self.request(method, path, body)
        if not isinstance(value, dict):
            raise EnvironmentProblem(f"{self.url} did not answer as a schema registry does: the body is not an object.")
        return value

    def request(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Return the JSON value that a path of the API answers; raise :class:`NotFound`, :class:`InvalidInput` etc."""
        headers = self._headers if body is None else {**self._headers, "Content-Type": self._headers["Accept"]}
        request = Request(self.url + path, data=body, headers=headers, method=method)  # noqa: S310 - the scheme is checked

        def ask() -> bytes:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer: bytes = response.read(_MAX_ANSWER + 1)
                return answer

        try:
            raw = call_with_retries(ask, self._policy, when=_may_pass, on_retry=_close, sleep=self._sleep)
        except HTTPError as error:
            raise _refusal(error, f"{method} {self.url}{path}") from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise EnvironmentProblem(
                f"{self.url} gave no usable answer: {reason}.", remedy="Check that the registry runs and its URL."
            ) from None
        return _read(raw, self.url)


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, which would send the password elsewhere: its status becomes an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _address(url: str) -> tuple[str, str | None]:
    """Return the URL without login and trailing slash, and the login."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("The schema registry's URL must begin with http:// or https:// and name a host.")
    login, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), login if at else None


def _body(definition: str, data_format: str) -> bytes:
    return json.dumps({"schema": definition, "schemaType": data_format}).encode()


def _read(raw: bytes, url: str) -> Any:
    try:
        if len(raw) > _MAX_ANSWER:
            raise ValueError(f"it has more than {_MAX_ANSWER} bytes")
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise EnvironmentProblem(f"{url} did not answer as a schema registry does: {error}.") from None
    return value


def _member(value: Any, name: str, expected: type) -> Any:
    member = value.get(name) if isinstance(value, dict) else None
    if not isinstance(member, expected):
        raise EnvironmentProblem(f"The schema registry's answer has no usable '{name}'.")
    return member


def _ids(answer: dict[str, Any]) -> tuple[int, UUID | None]:
    guid = answer.get("guid")
    try:
        return _member(answer, "id", int), UUID(guid) if guid else None
    except (ValueError, AttributeError):
        raise EnvironmentProblem("The schema registry's answer has an invalid 'guid'.") from None


def _may_pass(error: Exception) -> bool:
    if isinstance(error, HTTPError):
        return error.code in _WORTH_ANOTHER_TRY
    return isinstance(error, URLError | HTTPException | OSError)


def _close(error: Exception, *_: Any) -> None:
    if isinstance(error, HTTPError):
        error.close()


def _refusal(error: HTTPError, what: str) -> PenstockError:
    with error:
        try:
            text = str(json.loads(error.read(64 * 1024)).get("message") or error.reason)
        except (ValueError, AttributeError, RecursionError, OSError):
            text = str(error.reason)
    message = f"{text[:2000]} ({what}: {error.code})"
    if error.code == 404:
        return NotFound(message)
    if error.code in (401, 403):
        return AccessDenied(message, remedy="Check the registry's user and password (basic.auth.user.info).")
    return InvalidInput(message) if error.code < 500 and error.code != 429 else EnvironmentProblem(message)
