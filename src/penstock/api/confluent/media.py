"""Media types: which one an answer has by the client's Accept header, and which a body may have.

Source: ``@Produces`` and ``@Consumes`` of the resource classes of Confluent's registry. JAX-RS 3.8 describes the choice
among them: by the client's quality, then by the server's, which prefers the newest type.
"""

import re

from penstock.api.confluent.errors import NotAcceptable, WrongMediaType

__all__ = ["DEFAULT_TYPE", "check_content_type", "chosen_type"]

DEFAULT_TYPE = "application/vnd.schemaregistry.v1+json"
# The server's own order.
_ANSWERED = (DEFAULT_TYPE, "application/vnd.schemaregistry+json", "application/json")
_READ = frozenset({*_ANSWERED, "application/octet-stream"})
_QUALITY = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
_MAX_ITEMS = 50


def chosen_type(accept: str) -> str:
    """Return the answer's type by the header ``Accept``, or raise :class:`NotAcceptable`. An empty header accepts all."""
    if not accept.strip():
        return DEFAULT_TYPE
    best: tuple[float, int] | None = None
    for range_text in accept.split(",")[:_MAX_ITEMS]:
        media_range, quality = _wanted(range_text)
        for place, offered in enumerate(_ANSWERED):
            if quality > 0 and _matches(media_range, offered) and (best is None or (quality, -place) > best):
                best = (quality, -place)
    if best is None:
        raise NotAcceptable("HTTP 406 Not Acceptable", remedy=f"Answers are {', '.join(_ANSWERED)}.")
    return _ANSWERED[-best[1]]


def check_content_type(text: str) -> None:
    """Raise :class:`WrongMediaType` unless the type is accepted. A missing one is, because JAX-RS takes it for bytes."""
    if text.strip() and text.partition(";")[0].strip().lower() not in _READ:
        raise WrongMediaType(
            "HTTP 415 Unsupported Media Type", remedy=f"Send JSON, as Content-Type: {DEFAULT_TYPE} or application/json."
        )


def _wanted(text: str) -> tuple[str, float]:
    """Return a media range in lower case, and its quality: 0 if it cannot be parsed."""
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            quality = float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
    return name, quality


def _matches(media_range: str, offered: str) -> bool:
    return media_range in {offered, "*/*", "application/*"}
