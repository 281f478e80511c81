"""A lake for each account: the first one's where the settings say, the others' in a folder of folders, one an account.

The two lie apart, so that no name of a bucket or a key in one leads into another.
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
    """``lake`` is that of the account ``first``; ``others`` holds one folder for each other account, named after it.

    ``bucket`` is the one that results of statements go to by default.
    """

    first: str
    lake: Path
    others: Path
    bucket: str

    @classmethod
    def under(cls, settings: ServerSettings) -> "Lakes":
        """The lakes that the settings place."""
        return cls(
            first=settings.account,
            lake=settings.lake,
            others=settings.account_lakes,
            bucket=parse_uri(settings.results_location).bucket,
        )

    def of(self, account: str) -> LakeFolder:
        """The account's lake, whose folder may not be there yet."""
        return LakeFolder(self.lake if account == self.first else self.others / account)

    def make(self, account: str) -> Path:
        """The folder of the account's lake, with its first bucket, made where it is not there."""
        folder = self.of(account).root
        make_folder(folder / self.bucket, "lake")
        return folder

    def check_apart(self) -> None:
        """Raise :class:`EnvironmentProblem` if the first lake and the others' folder lie one within the other."""
        lake, others = self.lake.resolve(), self.others.resolve()
        if lake.is_relative_to(others) or others.is_relative_to(lake):
            raise EnvironmentProblem(
                f"The lake {self.lake} and the further accounts' lakes {self.others} lie one within the other: "
                "one account would read another one's files.",
                remedy="Choose other folders with --lake and --account-lakes.",
            )


def make_folder(path: Path, what: str) -> None:
    """Make a folder for its owner alone; :class:`EnvironmentProblem` if that cannot be, ``what`` says whose it is."""
    try:
        durable.make_folder(path, mode=0o700)
    except OSError as error:
        raise EnvironmentProblem(
            f"The {what}'s folder {path} cannot be made: {error.strerror}.",
            remedy="Choose another home, or make it writable.",
        ) from error
