"""Custom classifiers as values. The settings are those of Glue's API, by its names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from penstock.crawl.classifiers.grok import Grok
from penstock.crawl.classifiers.xml_rows import xml_rows
from penstock.crawl.formats.delimited import CsvRules, delimited
from penstock.crawl.formats.json_records import check_path, json_records
from penstock.crawl.formats.sample import Recognized, Sample
from penstock.errors import DataProblem, InvalidInput
from penstock.statements.resources import AccountResource
from penstock.types import hive

__all__ = ["Classifier", "ClassifierKind", "Recognizer", "recognizer_of"]

ClassifierKind = Literal["grok", "xml", "json", "csv"]
Recognizer: TypeAlias = Callable[[Sample, str], Recognized | None]
"""What a classifier does: it says what a sample of a text file is, or None."""

_DATA_TYPES = ("BINARY", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "LONG", "SHORT", "STRING", "TIMESTAMP")
_DECIMAL = "decimal(38,18)"
_MAX_COLUMNS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier(AccountResource):
    """A classifier as stored; ``settings`` have the members of Glue's structure of its kind, without the name."""

    kind: ClassifierKind
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    created: datetime
    updated: datetime


def recognizer_of(classifier: Classifier) -> Recognizer:
    """Return what the classifier does. Raises :class:`InvalidInput` for settings that cannot be used."""
    return {"grok": _grok, "xml": _xml, "json": _json, "csv": _csv}[classifier.kind](classifier.settings)


def _grok(settings: Mapping[str, Any]) -> Recognizer:
    return Grok.compiled(settings["Classification"], settings["GrokPattern"], settings.get("CustomPatterns") or "").recognize


def _xml(settings: Mapping[str, Any]) -> Recognizer:
    tag, classification = settings.get("RowTag"), settings["Classification"]
    if not tag:
        raise InvalidInput("An XML classifier without RowTag recognises nothing.", remedy="Give the tag of its rows.")
    return lambda sample, text: xml_rows(sample, text, tag=tag, classification=classification)


def _json(settings: Mapping[str, Any]) -> Recognizer:
    path = settings["JsonPath"]
    try:
        check_path(path)
    except DataProblem as error:
        raise InvalidInput(f"{error.message[0].upper()}{error.message[1:]}.") from None
    return lambda sample, text: json_records(sample, text, path)


def _csv(settings: Mapping[str, Any]) -> Recognizer:
    delimiter, quote = settings.get("Delimiter"), settings.get("QuoteSymbol") or '"'
    if delimiter == quote:
        raise InvalidInput("Delimiter and QuoteSymbol of a CSV classifier are the same.", remedy="Choose two characters.")
    header, types = tuple(settings.get("Header") or ()), tuple(settings.get("CustomDatatypes") or ())
    if bool(types) != bool(settings.get("CustomDatatypeConfigured")):
        raise InvalidInput("CustomDatatypes and CustomDatatypeConfigured of a CSV classifier need each other.")
    unknown = sorted({type_ for type_ in types if type_.upper() not in _DATA_TYPES})
    if unknown:
        raise InvalidInput(f"CustomDatatypes has {', '.join(unknown)[:200]}.", remedy=f"Use {', '.join(_DATA_TYPES)}.")
    if len(header) > _MAX_COLUMNS or (header and types and len(header) != len(types)):
        raise InvalidInput("Header and CustomDatatypes of a CSV classifier differ in length, or are too long.")
    if len({name.strip().lower() for name in header}) != len(header):
        raise InvalidInput("Header of a CSV classifier has a name twice.")
    rules = CsvRules(
        delimiter=delimiter,
        quote=quote,
        has_header={"PRESENT": True, "ABSENT": False}.get(settings.get("ContainsHeader") or "UNKNOWN"),
        header=header,
        types=tuple(_DECIMAL if type_.upper() == "DECIMAL" else hive.canonical(type_) for type_ in types),
        single_column=bool(settings.get("AllowSingleColumn")),
        serde=None if settings.get("Serde") in {None, "None"} else settings["Serde"],
        trims=not settings.get("DisableValueTrimming"),
    )
    return lambda sample, text: delimited(sample, text, rules)
