"""Further Python modules of a job: packages of an index by their names, and wheels in the lake.

Source: Glue developer guide, "Using Python libraries with AWS Glue", "Installing additional Python modules with pip".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from penstock.errors import InvalidInput
from penstock.jobs.errors import SettingNotServed

__all__ = ["INSTALLER_OPTION", "MODULES", "PythonModules", "check_installer_option", "parse_modules"]

MODULES = "--additional-python-modules"
"""Argument of a job: its further modules, separated by commas."""
INSTALLER_OPTION = "--python-modules-installer-option"
"""Argument of a job: words for pip."""
_MOST = 100
# A name with extras and versions, as PEP 508 has it; no address, no path, no option, no marker.
_REQUIREMENT = re.compile(
    r"(?i)[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?(?:\[[a-z0-9._-]{1,100}\])?"
    r"(?:\s*(?:===?|~=|!=|<=?|>=?)\s*[a-z0-9][a-z0-9.*+!_-]{0,100})?"
)
_WHEEL = re.compile(r"s3a?://[^/\s]+/\S+\.whl")
_WHEEL_NAME = re.compile(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.+!]+(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl")
# What they ask for is done in any case: each environment is a new one, of wheels only.
_WITHOUT_EFFECT = frozenset(
    {"--upgrade", "-U", "--no-cache-dir", "--quiet", "-q", "--prefer-binary", "--only-binary=:all:", "--no-input"}
)


@dataclass(frozen=True, slots=True)
class PythonModules:
    """``requirements`` are packages of an index (``requests==2.32.3``), ``wheels`` locations (``s3://…whl``)."""

    requirements: Sequence[str] = ()
    wheels: Sequence[str] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.requirements or self.wheels)


def parse_modules(text: str) -> PythonModules:
    """Return the modules in the value of :data:`MODULES`; raise :class:`InvalidInput` for what is neither kind."""
    entries = [*dict.fromkeys(part.strip() for part in text.split(",") if part.strip())]
    if len(entries) > _MOST:
        raise InvalidInput(f"{MODULES} has {len(entries)} modules, and can have {_MOST}.")
    wheels = [entry for entry in entries if "://" in entry]
    requirements = [entry for entry in entries if "://" not in entry]
    for requirement in requirements:
        if not _REQUIREMENT.fullmatch(requirement):
            raise InvalidInput(
                f"'{requirement[:200]}' in {MODULES} is not a package's name and version.",
                remedy="Write NAME==VERSION, or s3://BUCKET/KEY.whl.",
            )
    for wheel in wheels:
        name = PurePosixPath(wheel).name
        if not _WHEEL.fullmatch(wheel) or not _WHEEL_NAME.fullmatch(name):
            raise InvalidInput(
                f"'{wheel[:200]}' in {MODULES} is not the location of a wheel.",
                remedy="Write s3://BUCKET/KEY/NAME-VERSION-PYTHON-ABI-PLATFORM.whl; archives of sources are not built.",
            )
    names = [PurePosixPath(wheel).name for wheel in wheels]
    if len(set(names)) < len(names):
        raise InvalidInput(f"Two wheels in {MODULES} have the same name.", remedy="Leave one of them out.")
    return PythonModules(tuple(requirements), tuple(wheels))


def check_installer_option(text: str) -> None:
    """Raise :class:`SettingNotServed` for words in :data:`INSTALLER_OPTION` that would have an effect."""
    for word in re.split(r"[\s,]+", text.strip()):
        if word and word not in _WITHOUT_EFFECT:
            raise SettingNotServed(
                f"'{word[:100]}' in {INSTALLER_OPTION} is not served: wheels are taken from the index of the operator, and "
                "nothing is built.",
                remedy=f"Leave it out, and name packages and wheels in {MODULES}.",
            )
