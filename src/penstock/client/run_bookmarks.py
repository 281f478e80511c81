"""The bookmark of the job whose run this process is: read when the run begins, and committed by compare-and-set.

Penstock's server gives each run that it starts a URL and a token (``PENSTOCK_RUN_URL``, ``PENSTOCK_RUN_TOKEN``); Glue's API
has operations to read and reset bookmarks, and none to commit one.
"""

import http.client
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSRequest
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session

from penstock.errors import AccessDenied, ConcurrentModification, EnvironmentProblem, InvalidInput, PenstockError

__all__ = ["RunBookmark", "RunBookmarks"]

_SECONDS = 30
_ERRORS: Mapping[str, type[PenstockError]] = {
    item.aws_code: item for item in (AccessDenied, ConcurrentModification, InvalidInput)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBookmark:
    """What a job's runs have read: a JSON object as text, empty if none has committed, and its version."""

    job: str
    version: int
    document: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBookmarks:
    """Reads and commits the bookmark of this run's job."""

    url: str
    token: str = field(repr=False)

    @classmethod
    def of_run(cls, environment: Mapping[str, str]) -> "RunBookmarks | None":
        """Return the bookmarks of the run that ``environment`` is of; None if no server started this process."""
        url, token = environment.get("PENSTOCK_RUN_URL"), environment.get("PENSTOCK_RUN_TOKEN")
        return cls(url=url, token=token) if url and token else None

    def read(self) -> RunBookmark:
        """Return the bookmark. Raises :class:`AccessDenied` after the run's end, :class:`EnvironmentProblem`."""
        return self._ask("GET", None)

    def commit(self, document: str, *, version: int) -> RunBookmark:
        """Replace the bookmark that was read at ``version`` by ``document``, and return it with its new version.

        It is stored, and synced to the disk, when this returns. Raises :class:`ConcurrentModification` if another run
        committed since, or the bookmark was reset; :class:`InvalidInput` for a document that is not a JSON object;
        :class:`AccessDenied` after the run's end; :class:`EnvironmentProblem` without an answer: it may have been stored.
        """
        return self._ask("PUT", {"version": version, "document": document})

    def _ask(self, method: str, body: Mapping[str, Any] | None) -> RunBookmark:
        data = None if body is None else json.dumps(body)
        request = AWSRequest(method, f"{self.url}/bookmark", {"Authorization": self.token}, data)
        # As in every client of AWS, the authority of a platform's own certificates.
        verify: Any = os.environ.get("AWS_CA_BUNDLE") or True
        session = URLLib3Session(verify=verify, timeout=_SECONDS)
        try:
            answer = session.send(request.prepare())
            document = json.loads(answer.content)
        except (HTTPClientError, ValueError) as error:
            raise EnvironmentProblem(
                f"The job's bookmark: the server at {self.url} gave no usable answer: {error}.",
                remedy="Check that the server runs.",
            ) from error
        if answer.status_code != http.client.OK:
            error_class = _ERRORS.get(str(document.get("code")), EnvironmentProblem)
            raise error_class(
                str(document.get("message", f"The job's bookmark: the server answered with {answer.status_code}."))
            )
        return RunBookmark(job=document["job"], version=document["version"], document=document["document"])
