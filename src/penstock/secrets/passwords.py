"""Random passwords. Source: Secrets Manager API reference, GetRandomPassword."""

import secrets
import string
from dataclasses import dataclass

from penstock.secrets.errors import InvalidSecretParameter

__all__ = ["PasswordRules", "random_password"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordRules:
    """The rules of a password; ``length`` is in characters."""

    length: int = 32
    excluded: str = ""
    lowercase: bool = True
    uppercase: bool = True
    numbers: bool = True
    punctuation: bool = True
    space: bool = False
    item: bool = True
    """Whether the password needs a character of each included kind; a space is never required."""


def random_password(rules: PasswordRules) -> str:
    """Return a password from the system's generator. Raises :class:`InvalidSecretParameter` if the rules allow none."""
    classes = (
        (rules.lowercase, string.ascii_lowercase),
        (rules.uppercase, string.ascii_uppercase),
        (rules.numbers, string.digits),
        (rules.punctuation, string.punctuation),
    )
    remaining = [
        "".join(character for character in characters if character not in rules.excluded)
        for included, characters in classes
        if included
    ]
    required = remaining if rules.item else []
    if not all(required):
        raise InvalidSecretParameter(
            "ExcludeCharacters leaves no character of a required kind.",
            remedy="Exclude the whole kind, or set RequireEachIncludedType to false.",
        )
    letters = "".join(remaining) + (" " if rules.space and " " not in rules.excluded else "")
    if not letters:
        raise InvalidSecretParameter("The rules exclude all characters.")
    if rules.length < len(required):
        raise InvalidSecretParameter(
            f"Password length {rules.length} is too short based on the required types.",
            remedy=f"Ask for {len(required)} characters or more.",
        )
    chosen = [secrets.choice(characters) for characters in required]
    chosen += [secrets.choice(letters) for _ in range(rules.length - len(chosen))]
    secrets.SystemRandom().shuffle(chosen)
    return "".join(chosen)
