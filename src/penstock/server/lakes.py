"""A lake for each account: the first one's as configured, each other one's as a subfolder of one folder.

Neither contains the other, so that no bucket name or key of one account leads to another's files.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from penstock import durable
from penstock.access.policies.buckets import stored_bucket_policy
from penstock.access.policies.documents import Policy
from penstock.errors import EnvironmentProblem
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.policies import BucketPolicies
from penstock.settings.server import ServerSettings

__all__ = ["Lakes", "make_folder"]

_ACCOUNT = re.compile(r"\d{12}", re.ASCII)


_policies_of = lru_cache(maxsize=1_000)(BucketPolicies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lakes:
    """``lake`` is that of the account ``first``; ``others`` has a folder for each other account, named after it.

    ``bucket`` is the default one for results of statements.
    """

    first: str
    lake: Path
    others: Path
    bucket: str

    @classmethod
    def under(cls, settings: ServerSettings) -> "Lakes":
        """Return the lakes of the settings."""
        return cls(
            first=settings.account,
            lake=settings.lake,
            others=settings.account_lakes,
            bucket=parse_uri(settings.results_location).bucket,
        )

    def of(self, account: str) -> LakeFolder:
        """Return the account's lake, whose folder may not exist yet."""
        return LakeFolder(self.lake if account == self.first else self.others / account)

    def accounts(self) -> Sequence[str]:
        """Return the accounts that have a lake."""
        try:
            others = sorted(dir_entry.name for dir_entry in os.scandir(self.others) if _ACCOUNT.fullmatch(dir_entry.name))
        except FileNotFoundError:
            others = []
        return [self.first, *others]

    def bucket_policy(self, account: str, bucket: str) -> Policy | None:
        """Return the policy of an account's bucket, None if it has none."""
        try:
            text = _policies_of(self.of(account).root).get(bucket)
        except S3Error:  # such a name has no bucket
            return None
        return None if text is None else stored_bucket_policy(text)

    def make(self, account: str) -> Path:
        """Return the folder of the account's lake, with its first bucket, created if missing."""
        folder = self.of(account).root
        make_folder(folder / self.bucket, "lake")
        return folder

    def check_apart(self) -> None:
        """Raise :class:`EnvironmentProblem` if one of the first lake and the others' folder is within the other."""
        lake, others = self.lake.resolve(), self.others.resolve()
        if lake.is_relative_to(others) or others.is_relative_to(lake):
            raise EnvironmentProblem(
                f"The lake {self.lake} and the further accounts' lakes {self.others} lie one within the other: "
                "one account would read another one's files.",
                remedy="Choose other folders with --lake and --account-lakes.",
            )


def make_folder(path: Path, what: str) -> None:
    """Create a private folder; raise :class:`EnvironmentProblem`, which names ``what`` it is for, if that fails."""
    try:
        durable.make_folder(path, mode=0o700)
    except OSError as error:
        raise EnvironmentProblem(
            f"The {what}'s folder {path} cannot be made: {error.strerror}.",
            remedy="Choose another home, or make it writable.",
        ) from error
