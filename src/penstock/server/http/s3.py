"""HTTP for large bodies: an upload may take any time as long as data arrive, and refusals are S3's XML."""

from typing import Any

from penstock.api.s3.xml import error_xml
from penstock.server.http.protocol import BoundedProtocol, waiting

__all__ = ["MIN_PROGRESS", "UploadProtocol"]

MIN_PROGRESS = 64 * 1024
"""Bytes of a body that must arrive in each :data:`~penstock.server.http.protocol.REQUEST_SECONDS`."""


class UploadProtocol(BoundedProtocol):
    """A :class:`BoundedProtocol` whose deadline for the body restarts with each :data:`MIN_PROGRESS` bytes."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self._progress = 0

    def document(self, status: int, code: str, message: str) -> tuple[str, bytes]:  # noqa: ARG002
        return "application/xml", error_xml(code.removesuffix("Exception"), message, {}, "", "")

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._progress += len(body)
        # After a refusal, the rest has the time of any request.
        if self._progress >= MIN_PROGRESS and self in waiting.since and self.under_way:
            self._progress = 0
            # Removed and added again: the one that waits longest comes first there.
            waiting.end(self)
            waiting.start(self)
