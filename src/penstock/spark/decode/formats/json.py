"""JSON payloads, decoded in the JVM by ``from_json`` with the type of the registered JSON Schema, strictly.

A document is put between the brackets of an array whose last item is null, so that text behind it shows. Documents with a
value of another type, without a required value, or with a property that a closed object does not have, are not rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from penstock.errors import DataProblem
from penstock.pipelines.decode import ExtraFields
from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.formats.jsonschema import JsonSchemaFormat
from penstock.schema.jsonschema.columns import JsonMember, JsonShape, shape_of
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats.json_checks import exact, suspect
from penstock.spark.decode.formats.port import GOOD, FormatSettings, Payloads
from penstock.spark.types import spark_type

__all__ = ["JsonPayloads", "document_shape"]

_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_broken", "allowNonNumericNumbers": "false"}
_TRAILING = 0.0  # any number but the mark


class JsonPayloads:
    """JSON. Limits on values (enum, pattern, minimum, formats) are the serialisers' to check, types are checked here."""

    def __init__(self, settings: FormatSettings) -> None:
        self._settings = settings

    def reader(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> str:
        """Return the reader's definition; JSON needs no other, since documents name their fields."""
        for version in (reader, *writers):
            document_shape(version.definition)
        return reader.definition

    def rows(self, payloads: Payloads, writers: Sequence[SchemaVersion], reader: str) -> Column:
        """Return documents parsed once, as the reader's type; each writer's own rules are then checked."""
        shape = document_shape(reader)
        data_type = StructType(
            [StructField("items", ArrayType(spark_type(shape.type))), StructField("_broken", StringType())]
        )
        text = payloads.payload.cast("string")
        parsed = F.from_json(F.concat(F.lit('{"items":['), text, F.lit(",null]}")), data_type, _OPTIONS)
        body = F.get(parsed["items"], F.lit(0))

        def fits(rules: JsonShape) -> Column:
            return _fits(body, text, rules)

        size = F.size(parsed["items"])
        ends = F.get(parsed["items"], size - 1).isNull()
        good = parsed["_broken"].isNull() & (size == 2) & ends & body.isNotNull() & F.is_valid_utf8(text)
        good = good & _by_version(writers, payloads.version, fits, shape, self._settings.extra_fields)
        more = parsed["_broken"].isNull() & (size > 2)
        tail = F.when(good, F.lit(GOOD)).when(more, F.lit(_TRAILING))
        return F.struct(body.alias("body"), tail.alias("tail"))

    def missing_fields(self, writer: str, reader: str) -> list[str]:
        """Return the properties that the writer's definition lists and the reader's does not."""
        return list(_missing(document_shape(writer), document_shape(reader), ""))


@lru_cache(maxsize=1000)
def document_shape(definition: str) -> JsonShape:
    """Return the shape of a definition's documents. Raises :class:`DataProblem` if a table cannot hold them."""
    try:
        return shape_of(JsonSchemaFormat().parse(definition, legacy=True).tree)
    except (InvalidSchema, NoColumns, ValueError, RecursionError) as error:
        raise DataProblem(f"A schema version cannot be used for decoding. {error}") from error


def _by_version(
    writers: Sequence[SchemaVersion],
    version: Column,
    fits: Callable[[JsonShape], Column],
    reader: JsonShape,
    policy: ExtraFields,
) -> Column:
    """Return the condition of each record's writer; writers with the same rules share one."""
    rules: dict[JsonShape, list[int]] = {}
    for writer in writers:
        shape = _with_policy(_both(reader, document_shape(writer.definition)), policy)
        rules.setdefault(shape, []).append(writer.number)
    if len(rules) < 2:
        return reduce(lambda _, shape: fits(shape), rules, F.lit(True))
    cases = [(version.isin(numbers), fits(shape)) for shape, numbers in rules.items()]
    return reduce(lambda case, branch: case.when(*branch), cases[1:], F.when(*cases[0]))


def _with_policy(shape: JsonShape, policy: ExtraFields) -> JsonShape:
    """Return the shape with every object closed, or none, unless the schema decides."""
    if policy == "schema":
        return shape
    return replace(
        shape,
        closed=policy == "refuse" and shape.kind == "struct",
        members=tuple(replace(member, shape=_with_policy(member.shape, policy)) for member in shape.members),
        items=None if shape.items is None else _with_policy(shape.items, policy),
    )


def _both(reader: JsonShape, writer: JsonShape) -> JsonShape:
    """Return what a writer's documents must be: of the reader's types, required and closed as the writer says."""
    if reader.kind != writer.kind:
        return _loose(reader)
    if reader.items is not None and writer.items is not None:
        return replace(reader, nullable=writer.nullable, items=_both(reader.items, writer.items))
    if reader.kind != "struct":
        return replace(reader, nullable=writer.nullable)
    ours = {member.name: member.shape for member in reader.members}
    written = [
        replace(member, shape=_both(ours[member.name], member.shape))
        if member.name in ours
        else JsonMember(name=member.name, shape=JsonShape(kind="text"))
        for member in writer.members
    ]
    names = {member.name for member in written}
    others = [JsonMember(name=name, shape=_loose(shape)) for name, shape in ours.items() if name not in names]
    return replace(reader, nullable=writer.nullable, members=(*written, *others), closed=writer.closed)


def _loose(shape: JsonShape) -> JsonShape:
    members = tuple(JsonMember(name=member.name, shape=_loose(member.shape)) for member in shape.members)
    items = None if shape.items is None else _loose(shape.items)
    return replace(shape, nullable=True, closed=False, members=members, items=items)


def _fits(body: Column, text: Column, shape: JsonShape) -> Column:
    """Return whether a document, of which ``from_json`` made ``body`` without complaint, lost nothing by that."""
    tests = _required(body, shape)
    doubtful = suspect(shape)
    if doubtful is not None:
        # Without a schema there are two equal names, or it nests too deep.
        closely = F.coalesce(F.schema_of_variant(F.try_parse_json(text)).rlike(exact(shape)), F.lit(False))
        tests.append(F.when(~text.rlike(doubtful), F.lit(True)).otherwise(closely) if doubtful else closely)
    return _all(tests)


def _required(value: Column, shape: JsonShape) -> list[Column]:
    """Return the conditions that no required value inside ``value`` is missing; they hold for a null ``value``."""
    tests: list[Column] = []
    for member in shape.members:
        inner = value.getField(member.name)
        if member.required and not member.shape.nullable:
            tests.append(inner.isNotNull() | value.isNull())
        tests.extend(_required(inner, member.shape))
    if shape.items is not None and _limits(shape.items):
        values = F.map_values(value) if shape.kind == "map" else value
        tests.append(F.coalesce(F.forall(values, _complete(shape.items)), F.lit(True)))
    return tests


def _limits(shape: JsonShape) -> bool:
    """Return whether there are values of this shape's types that lack something."""
    inside = any((member.required and not member.shape.nullable) or _limits(member.shape) for member in shape.members)
    items = shape.items
    return not shape.nullable or inside or (items is not None and _limits(items))


def _complete(shape: JsonShape) -> Callable[[Column], Column]:
    return lambda value: _all(_required(value, shape) + ([] if shape.nullable else [value.isNotNull()]))


def _all(tests: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one & other, tests, F.lit(True))


def _missing(writer: JsonShape, reader: JsonShape, path: str) -> Iterator[str]:
    ours = {member.name: member.shape for member in reader.members}
    for member in writer.members:
        where = f"{path}.{member.name}" if path else member.name
        if reader.kind == "struct" and member.name not in ours:
            yield where
        elif member.name in ours:
            yield from _missing(member.shape, ours[member.name], where)
    if writer.items is not None and reader.items is not None:
        yield from _missing(writer.items, reader.items, f"{path}[]")
