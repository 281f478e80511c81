"""The only access to the jsonschema-rs library: imported on first use, without look-ups, and with limited work."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema
from penstock.schema.jsonschema.drafts import Draft

__all__ = ["check_by_library", "check_pattern", "check_syntax", "matches", "without_repetitions"]

_TYPES = "array, boolean, integer, null, number, object, string"
_MAX_PATTERN = 5_000
_BACKTRACKS = 1_000
_REGEX_BYTES = 1 << 20
_CACHED_REGEX_BYTES = 1 << 16

# Escapes are matched whole so that braces in them do not count.
_REPETITION = re.compile(r"\\[uxpP]\{[^}]*\}|\\.|\{(\d{1,9})(?:,(\d{0,9}))?\}", re.DOTALL)


def _library() -> ModuleType:
    try:
        import jsonschema_rs  # noqa: PLC0415  # an extra
    except ImportError:
        raise EnvironmentProblem(
            "JSON Schema needs the package jsonschema-rs, which is not installed.", remedy="pip install 'penstock[json]'"
        ) from None
    return jsonschema_rs


def check_syntax(schema: Any, draft: Draft, where: str) -> None:
    """Validate ``schema`` against the meta-schema of ``draft``. Raise :class:`InvalidSchema` with the path of the fault.

    ``where`` is put in front of that path. No validator of ``schema`` is made: the library makes one for each path to a
    schema with its own URI, and the paths double if each of a row of schemas refers to the two before it.
    """
    library = _library()
    if isinstance(schema, dict):
        uri = draft.uri + "#" if draft.ref_stands_alone else draft.uri
        with _explained(library, draft, where):
            library.meta.validate({**schema, "$schema": uri})


def check_by_library(schema: Any, draft: Draft, base: str, others: Mapping[str, Any]) -> Any:
    """Return the validator of ``schema``, after validation against its draft's meta-schema.

    ``others`` are the schemas it may refer to, by URI. Raise :class:`InvalidSchema` with the path of the fault. URLs and
    files are never followed.
    """
    library = _library()
    number = getattr(library, draft.validator.removesuffix("Validator"))
    resources = list(others.items())
    options: dict[str, Any] = {"retriever": _refuse, "validate_formats": False, "pattern_options": _pattern_options(library)}
    with _explained(library, draft, ""):
        if resources:
            options["registry"] = library.Registry(resources, draft=number, retriever=_refuse)
        return getattr(library, draft.validator)(schema, base_uri=base, **options)


@contextmanager
def _explained(library: ModuleType, draft: Draft, where: str) -> Iterator[None]:
    """Turn the library's errors into :class:`InvalidSchema`."""
    try:
        yield
    except library.ValidationError as error:
        path = where + "".join(f"/{_escape(str(step))}" for step in error.instance_path)
        message, remedy = str(error.message), f"See the rules of {draft.uri}."
        if path.endswith("/type") and isinstance(error.kind, library.ValidationErrorKind.AnyOf):
            # The meta-schema's message does not name the types.
            message = message.partition(" is not valid under any")[0] + " is not a type"
            remedy = f"A type is one of {_TYPES}, or a list of different ones."
        raise InvalidSchema(
            f"The definition is not a valid JSON Schema: {message[:300]}{'...' if len(message) > 300 else ''}",
            path=path,
            remedy=remedy,
        ) from None
    except (ValueError, library.ReferencingError) as error:
        raise InvalidSchema(f"The definition is not a valid JSON Schema: {str(error)[:300]}", path=where) from None


def _pattern_options(library: ModuleType) -> Any:
    return library.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_REGEX_BYTES)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the definition, and URLs are never looked up")


def _escape(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def without_repetitions(pattern: str) -> str:
    """Return ``pattern`` with ``*`` for each counted repetition, which has the same syntax and compiles quickly."""
    return _REPETITION.sub(lambda match: match[0] if match[1] is None else "*", pattern)


def check_pattern(pattern: str, path: str) -> None:
    """Raise :class:`InvalidSchema` if ``pattern`` is not a regular expression. It is not run."""
    if len(pattern) > _MAX_PATTERN:
        raise InvalidSchema(f"The pattern has {len(pattern)} characters; the limit is {_MAX_PATTERN}.", path=path)
    for match in _REPETITION.finditer(pattern):
        if match[1] and match[2] and int(match[2]) < int(match[1]):
            raise InvalidSchema(
                f"The pattern's repetition {match[0]} has a minimum above its maximum.", path=path, remedy="Swap the two."
            )
    if not _compiles(without_repetitions(pattern)):
        raise InvalidSchema(
            f"{pattern[:200]!r} is not a regular expression.",
            path=path,
            remedy="Use the dialect of ECMA 262, which includes look-around and back-references.",
        )


def matches(pattern: str, text: str) -> bool | None:
    """Return whether ``text`` matches ``pattern`` anywhere, or None if that cannot be decided with limited work."""
    matcher = _matcher(pattern)
    return None if matcher is None else matcher(text)


def _compiles(pattern: str) -> bool:
    library = _library()
    try:
        library.Draft7Validator({"pattern": pattern}, pattern_options=_pattern_options(library))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=2_048)
def _matcher(pattern: str) -> Callable[[str], bool | None] | None:
    library = _library()
    try:
        # The engine without look-around and back-references takes time in proportion to the text.
        options = library.RegexOptions(size_limit=_CACHED_REGEX_BYTES)
        plain = library.Draft7Validator({"pattern": pattern}, pattern_options=options)
    except ValueError:
        return _backtracking_matcher(library, pattern)
    is_valid: Callable[[str], bool] = plain.is_valid
    return is_valid


def _backtracking_matcher(library: ModuleType, pattern: str) -> Callable[[str], bool | None] | None:
    options = library.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_CACHED_REGEX_BYTES)
    try:
        validator = library.Draft7Validator({"pattern": pattern}, pattern_options=options)
    except ValueError:
        return None
    kinds = library.ValidationErrorKind

    def match(text: str) -> bool | None:
        for error in validator.iter_errors(text):
            return None if isinstance(error.kind, (kinds.BacktrackLimitExceeded, kinds.RegexEngineFailure)) else False
        return True

    return match
