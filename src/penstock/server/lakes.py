"""A lake for each account: the first one's as configured, each other one's as a subfolder of one folder.

Neither contains the other, so that no bucket name or key of one account leads to another's files.
"""

from dataclasses import dataclass
from pathlib import Path

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.settings.server import ServerSettings

__all__ = ["Lakes", "make_folder"]


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
