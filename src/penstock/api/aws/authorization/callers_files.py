"""Which files of the lake a caller may open, list, write and remove: one place decides, for each file by its one spelling.

Of a table whose location is registered with Lake Formation, its grants decide (:mod:`.governed_files`). Elsewhere the
caller's own rights in S3 do: identity policies, permissions boundaries, session policies, the bucket's policy. An explicit
Deny on the object wins in both cases; on AWS it does not in a registered location.

Source: Athena user guide, "Control access to Amazon S3 from Athena".
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from penstock.access.authorize import denial
from penstock.access.context_keys import Origin
from penstock.access.errors import NotAuthorized
from penstock.access.policies.evaluate import Decision
from penstock.access.principals import Caller
from penstock.api.access_checker import AccessChecker
from penstock.api.aws.authorization.governed_files import GovernedFiles
from penstock.errors import InvalidInput
from penstock.lake.locations import parse_uri
from penstock.lake.permitted import LIST_BUCKET, TableKey

__all__ = ["CallersFiles"]

_ARN = "arn:aws:s3:::"
_MOST_TOLD = 50  # folders in an answer, which who asks looks through for each file


class CallersFiles:
    """Decides for one caller in the account ``owner``, for as long as a request or a statement lasts."""

    def __init__(
        self, access: AccessChecker, caller: Caller, origin: Origin, *, owner: str, governed: GovernedFiles | None
    ) -> None:
        self._access = access
        self._caller = caller
        self._origin = origin
        self._owner = owner
        self._governed = governed
        self._whole: dict[tuple[str, TableKey | None], dict[str, bool]] = {}
        """By action and table: whether a folder is allowed as a whole."""

    def check(self, action: str, uris: Sequence[str], table: TableKey | None = None) -> Sequence[str]:
        """See :class:`penstock.lake.permitted.FileAccess`. Raises :class:`NotAuthorized`."""
        whole = self._whole.setdefault((action, table), {})
        for uri in uris:
            try:
                where = parse_uri(uri)
            except InvalidInput as error:
                raise NotAuthorized(error.message, remedy=error.remedy) from None
            place = f"{where.bucket}/{where.key}"
            if action == LIST_BUCKET:
                self._check(action, place, table, bucket=where.bucket, prefix=where.key)
            elif not self._allows_around(action, place, table, whole):
                self._check(action, place, table)
        return list(islice((f"s3://{folder}" for folder, allowed in whole.items() if allowed), _MOST_TOLD))

    def _check(
        self, action: str, place: str, table: TableKey | None, *, bucket: str | None = None, prefix: str | None = None
    ) -> None:
        """Raise unless ``action`` is allowed on an object, or on a ``bucket`` for listing below ``prefix``."""
        resource = f"{_ARN}{bucket or place}"
        decision = self._decide(action, resource, extra={"s3:prefix": prefix} if prefix else None)
        assert decision is not None
        governed = self._governed if not decision.explicit else None
        if governed is not None and table is not None and governed.home_of(f"{_ARN}{place}", table) is not None:
            governed.check(action, f"{_ARN}{place}", table)
            return
        if not decision.allowed:
            within = "" if prefix is None else f" (with the prefix '{prefix[:500]}')"
            raise denial(self._caller, action, f"{resource}{within}", decision.reason)

    def _allows_around(self, action: str, place: str, table: TableKey | None, whole: dict[str, bool]) -> bool:
        """Return whether a folder that has the file is allowed as a whole, the widest one first."""
        home = place.rpartition("/")[0] + "/"
        allowed_within = whole.get(home)
        if allowed_within is not None:
            return allowed_within
        allowed, end = False, 0
        while not allowed and (end := place.find("/", end) + 1):
            folder = place[:end]
            if folder not in whole:
                whole[folder] = self._allows_below(action, f"{_ARN}{folder}", table)
            allowed = whole[folder]
        whole[home] = allowed
        return allowed

    def _allows_below(self, action: str, prefix: str, table: TableKey | None) -> bool:
        decision = self._decide(action, prefix, below=True)
        if decision is None:
            return False
        snapshot = self._governed.snapshot if self._governed is not None else None
        if snapshot is None or not snapshot.overlaps_locations(prefix):
            return decision.allowed
        governed = self._governed
        if governed is None or table is None or snapshot.has_locations_within(prefix):
            return False
        # Within one registered location. Where no grant decides on all of it, each file is decided on alone.
        if governed.home_of(prefix, table) is None or decision.explicit:
            return False
        return governed.allows(action, prefix, table)

    def _decide(
        self, action: str, resource: str, *, below: bool = False, extra: Mapping[str, str] | None = None
    ) -> Decision | None:
        return self._access.on_objects(
            self._caller, action, resource, self._origin, owner=self._owner, below=below, extra=extra
        )
