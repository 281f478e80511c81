"""What a handler receives and returns: one request on one account's lake, and its answer."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from penstock.access.policies.buckets import stored_bucket_policy
from penstock.access.policies.documents import Policy
from penstock.access.principals import Caller
from penstock.api.s3.body import BodyReader
from penstock.api.s3.model import service_model
from penstock.api.s3.work import Work
from penstock.api.s3.xml import parse_xml
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import LakeStore, OpenObject
from penstock.lake.objects.uploads import Uploads

__all__ = ["Answer", "Authorize", "BucketLake", "Call", "Handler", "Lake", "LakeAccess", "not_implemented"]

T = TypeVar("T")

_MAX_DOCUMENT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """The lake of one account."""

    account: str
    store: LakeStore
    uploads: Uploads


class Authorize(Protocol):
    """Raises :class:`S3Error` unless the caller of a request may do an action in the lake of the account ``owner``.

    ``policy`` is the bucket's, None if it has none; ``extra`` are S3's condition keys.
    """

    def __call__(
        self, action: str, resource: str, /, *, owner: str, policy: Policy | None, extra: Mapping[str, str]
    ) -> None: ...


class LakeAccess:
    """What one caller may do in one lake. Without ``authorize``, everything is allowed."""

    def __init__(self, authorize: Authorize | None, lake: Lake) -> None:
        self._authorize = authorize
        self._lake = lake

    @property
    def unrestricted(self) -> bool:
        """Whether everything is allowed."""
        return self._authorize is None

    def check(self, action: str, bucket: str = "", key: str = "", *, extra: Mapping[str, str] | None = None) -> None:
        """Raise :class:`S3Error` unless ``s3:ACTION`` is allowed on the object, the bucket or, without either, on all.

        May read the store.
        """
        if self._authorize is not None:
            resource = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}" if bucket else "*"
            text = self._lake.store.policies.get(bucket) if bucket else None
            self._authorize(
                f"s3:{action}",
                resource,
                owner=self._lake.account,
                policy=None if text is None else stored_bucket_policy(text),
                extra=extra or {},
            )

    def may_know_missing(self, bucket: str, key: str) -> bool:
        """Return whether the caller may learn that ``key`` does not exist: whether it may list the keys that begin so."""
        try:
            self.check("ListBucket", bucket, extra={"s3:prefix": key})
        except S3Error:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLake:
    """The lake that has a bucket, and what the caller may do there."""

    lake: Lake
    access: LakeAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. ``members`` are those of botocore's input shape that are in the query and the headers."""

    operation: str
    bucket: str
    key: str
    members: Mapping[str, Any]
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: BodyReader
    lake: Lake
    caller: Caller
    region: str
    access: LakeAccess
    work: Work
    find: Callable[[str, str | None], BucketLake]
    """Returns where a bucket is, by its name and its expected owner, if one is expected. May block."""

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that may block on a thread; return or raise what it does."""
        return await self.work.run(function, *arguments)

    async def document(self, shape: str, *, elements: int, optional: bool = False) -> dict[str, Any]:
        """Return the body as a structure of botocore's ``shape``; raise :class:`S3Error` if it is invalid or too large.

        ``elements`` is the maximal number of XML elements. If the body is ``optional``, an empty one is an empty structure.
        """
        model: Any = service_model().shape_for(shape)
        with self.work.document(f"{self.caller.account} {self.caller.principal}"):
            body = await self.body.read_all(_MAX_DOCUMENT)
            if optional and not body.strip():
                return {}
            document: dict[str, Any] = await self.work.parse(lambda: parse_xml(body, model, elements=elements))
            return document

    async def text(self) -> str:
        """Return the body as text; raise :class:`S3Error` if it is too large or not UTF-8."""
        with self.work.document(f"{self.caller.account} {self.caller.principal}"):
            body = await self.body.read_all(_MAX_DOCUMENT)
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise S3Error("MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'") from None

    async def check_access(self, action: str, *, extra: Mapping[str, str] | None = None) -> None:
        """Raise :class:`S3Error` unless the caller may do ``action`` on this request's bucket or object."""
        if not self.access.unrestricted:
            await self.run(lambda: self.access.check(action, self.bucket, self.key, extra=extra))


@dataclass(slots=True, kw_only=True)
class Answer:
    """An answer: members of the output's shape, further headers, and perhaps a part of an open object."""

    members: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stream: OpenObject | None = None
    start: int = 0
    length: int = 0
    denied: Sequence[str] = ()
    """Keys that the caller was denied in a request for many: for the audit log."""
    document: bytes | None = None
    """The document to send instead of a rendering of the members."""


Handler = Callable[[Call], Awaitable[Answer]]


def not_implemented(what: str, *, remedy: str | None = None) -> S3Error:
    """Return the error for something that S3 has and this server does not."""
    return S3Error("NotImplemented", f"{what} is not implemented.", remedy=remedy)
