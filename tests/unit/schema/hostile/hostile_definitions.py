"""Definitions made to hurt, up to the 170,000 characters that a request may carry: by format, each under a name of its own.

They are built, not stored: wide, deep, long, numerous, ambiguous or exponential at whatever a format lets one write. Where
one of them found something, its comment says what.
"""

# ruff: noqa: E501 -- a table, one definition a line

import base64
import json
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["HOSTILE", "hostile"]

SIZE = 169_000

HOSTILE: dict[str, dict[str, Callable[[], str]]] = {"AVRO": {}, "JSON": {}, "PROTOBUF": {}}


def hostile() -> list[tuple[str, str]]:
    """Format and name of each definition."""
    return [(data_format, name) for data_format, definitions in HOSTILE.items() for name in definitions]


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _nested(start: str, core: str, end: str, levels: int | None = None) -> str:
    levels = levels or (SIZE - len(core)) // (len(start) + len(end))
    return start * levels + core + end * levels


def _fill(piece: Callable[[int], str], joint: str = ",", room: int = SIZE) -> str:
    parts: list[str] = []
    size = 0
    while size < room - 200:
        parts.append(piece(len(parts)))
        size += len(parts[-1]) + len(joint)
    return joint.join(parts)


def _record(fields: str, name: str = "R") -> str:
    return f'{{"type":"record","name":"{name}","fields":[{fields}]}}'


ODD_TEXTS = {
    "nul": "\\u0000",
    "raw-nul": "\0",
    "lone-surrogate": "\\ud800",
    "swapped-surrogates": "\\udc00\\ud800",
    "astral": "\U0001f4a5",
    "right-to-left": "\u202e\u200b\ufeff",
    "controls": "\x01\x7f\x9b",
    "line-separators": "\u2028\u2029\u0085",
}

JSON_TEXTS: dict[str, Callable[[], str]] = {
    "brackets": lambda: "[" * SIZE,
    "braces": lambda: '{"a":' * (SIZE // 5),
    "closed-brackets": lambda: _nested("[", "1", "]"),
    "huge-integer": lambda: "9" * SIZE,
    "huge-exponent": lambda: "1e" + "9" * SIZE,
    "infinity": lambda: "Infinity",
    "nan-inside": lambda: '{"type":NaN}',
    "long-string": lambda: '"' + "a" * SIZE + '"',
    "backslashes": lambda: '"' + "\\" * (SIZE - 1),
    "blank": lambda: " " * SIZE,
    "byte-order-mark": lambda: '\ufeff"string"',
    "duplicate-keys": lambda: "{" + _fill(lambda n: '"type":"string"') + "}",
    "escapes": lambda: '"' + "\\u0061" * (SIZE // 6) + '"',
    "null": lambda: "null",
    "number": lambda: "1",
    "trailing": lambda: '{"type":"string"}' + "}" * SIZE,
}


def _odd_avro(name: str, odd: str) -> dict[str, Callable[[], str]]:
    return {
        f"name-{name}": lambda: _record("", "a" + odd),
        f"doc-{name}": lambda: f'{{"type":"record","name":"R","fields":[],"doc":"{odd}"}}',
        f"property-{name}": lambda: f'{{"type":"string","{odd}":"{odd}"}}',
        f"default-{name}": lambda: _record(
            f'{{"name":"a","type":"string","default":"{odd}"}},{{"name":"b","type":"bytes","default":"{odd}"}}'
        ),
    }


def _avro() -> dict[str, Callable[[], str]]:
    results = dict(JSON_TEXTS)
    results |= {
        "many-fields": lambda: _record(_fill(lambda n: f'{{"name":"f{n}","type":"int"}}')),
        "other-many-fields": lambda: _record(_fill(lambda n: f'{{"name":"g{n}","type":"long"}}')),
        "many-defaults": lambda: _record(_fill(lambda n: f'{{"name":"f{n}","type":"int","default":{n}}}')),
        "other-many-defaults": lambda: _record(_fill(lambda n: f'{{"name":"g{n}","type":"int","default":{n}}}')),
        "many-optional": lambda: _record(_fill(lambda n: f'{{"name":"f{n}","type":["null","int"],"default":null}}')),
        "many-records": lambda: _record(
            _fill(lambda n: f'{{"name":"f{n}","type":{{"type":"record","name":"A{n}","fields":[]}}}}')
        ),
        "mesh": _avro_mesh,
        "other-mesh": lambda: _avro_mesh("long"),
        "wide-union": lambda: "[" + _fill(lambda n: f'{{"type":"fixed","name":"F{n}","size":{n + 1}}}') + "]",
        "wide-record-union": lambda: "[" + _fill(lambda n: _record('{"name":"a","type":"int"}', f"R{n}")) + "]",
        "other-record-union": lambda: "[" + _fill(lambda n: _record('{"name":"a","type":"long"}', f"S{n}")) + "]",
        "same-record-union": lambda: (
            "[" + _fill(lambda n: f'{{"type":"record","name":"R{n}","aliases":["A"],"fields":[]}}') + "]"
        ),
        "unions-of-all-records": _avro_union_mesh,
        "other-unions-of-all-records": lambda: _avro_union_mesh("T"),
        "deep-records": lambda: _avro_deep(1_500),
        "deep-records-within": lambda: _avro_deep(30),
        "deep-arrays": lambda: _nested('{"type":"array","items":', '"int"', "}"),
        "deep-maps-within": lambda: _nested('{"type":"map","values":', '"int"', "}", 30),
        "deep-unions": lambda: _nested('["null",', '"int"', "]"),
        "many-symbols": lambda: '{"type":"enum","name":"E","symbols":[' + _fill(lambda n: f'"S{n}"') + "]}",
        "other-many-symbols": lambda: '{"type":"enum","name":"E","symbols":[' + _fill(lambda n: f'"T{n}"') + "]}",
        "same-symbols": lambda: '{"type":"enum","name":"E","symbols":[' + _fill(lambda n: '"S"') + "]}",
        "long-name": lambda: _record("", "a" * SIZE),
        "long-namespace": lambda: _record("", "a." * (SIZE // 2) + "a"),
        "long-bad-namespace": lambda: _record("", "a" * (SIZE - 100) + "!"),
        "long-doc": lambda: f'{{"type":"record","name":"R","fields":[],"doc":"{"d" * SIZE}"}}',
        "many-aliases": lambda: (
            '{"type":"record","name":"R","fields":[],"aliases":[' + _fill(lambda n: f'"a.b.C{n}"') + "]}"
        ),
        "many-properties": lambda: '{"type":"string",' + _fill(lambda n: f'"p{n}":{n}') + "}",
        "deep-property": lambda: '{"type":"string","p":' + _nested("[", "1", "]", 80_000) + "}",
        "deep-property-within": lambda: '{"type":"string","p":' + _nested('{"a":', "1", "}", 60) + "}",
        "deep-default": lambda: _record(
            '{"name":"a","type":{"type":"array","items":"int"},"default":' + _nested("[", "1", "]", 80_000) + "}"
        ),
        "recursive": lambda: _record('{"name":"a","type":["null","R"]},{"name":"b","type":{"type":"array","items":"R"}}'),
        "recursive-endless": lambda: _record('{"name":"a","type":"R"}'),
        "recursive-default": lambda: _record(
            '{"name":"a","type":["R","null"],"default":' + _nested('{"a":', "null", "}", 20_000) + "}"
        ),
        "recursive-default-list": lambda: _record(
            '{"name":"a","type":{"type":"array","items":"R"},"default":' + _nested('[{"a":', "[]", "}]", 20_000) + "}"
        ),
        "huge-size": lambda: '{"type":"fixed","name":"F","size":' + "9" * 160_000 + "}",
        "long-size": lambda: '{"type":"fixed","name":"F","size":9223372036854775807}',
        "exponent-size": lambda: '{"type":"fixed","name":"F","size":1e400}',
        "huge-precision": lambda: '{"type":"bytes","logicalType":"decimal","precision":' + "9" * 4_000 + "}",
        "very-huge-precision": lambda: '{"type":"bytes","logicalType":"decimal","precision":' + "9" * 160_000 + "}",
        "decimal-of-a-huge-fixed": lambda: (
            '{"type":"fixed","name":"F","size":999999999999,"logicalType":"decimal","precision":999999999999}'
        ),
        "huge-scale": lambda: '{"type":"bytes","logicalType":"decimal","precision":4,"scale":-' + "9" * 4_000 + "}",
        "huge-default": lambda: _record('{"name":"a","type":"double","default":' + "9" * 160_000 + "}"),
        "huge-default-exponent": lambda: _record('{"name":"a","type":"double","default":1e999999999}'),
        "long-default": lambda: _record('{"name":"a","type":"long","default":9223372036854775808}'),
        "type-of-type": lambda: _nested('{"type":', '"string"', "}"),
        "type-of-type-within": lambda: _nested('{"type":', '"string"', "}", 20),
        "wrong-kinds": lambda: '{"type":[[]],"name":{},"fields":{"a":[]},"symbols":1,"items":null}',
        "undefined-names": lambda: _record(_fill(lambda n: f'{{"name":"f{n}","type":"Undefined{n}"}}')),
        "ten-defaults": _avro_default_bomb,
    }
    for name, odd in ODD_TEXTS.items():
        results |= _odd_avro(name, odd)
    return results


def _avro_mesh(kind: str = "int") -> str:
    """Each record uses the two behind it: two to the power of their number paths lead to the last one."""
    records = [_record(f'{{"name":"z","type":"{kind}"}}', "R0"), _record('{"name":"a","type":"R0"}', "R1")]
    size = 0
    while size < SIZE - 1_000:
        n = len(records)
        records.append(_record(f'{{"name":"a","type":"R{n - 1}"}},{{"name":"b","type":"R{n - 2}"}}', f"R{n}"))
        size += len(records[-1]) + 1
    return f"[{','.join(records)}]"


def _avro_union_mesh(prefix: str = "R") -> str:
    """Records whose fields are unions of all records."""
    names = [f"{prefix}{n}" for n in range(60)]
    union = ",".join(f'"{name}"' for name in names)
    field = f'{{"name":"a","type":[{union}]}}'
    return "[" + ",".join(_record(field, name) for name in names) + "]"


def _avro_deep(levels: int) -> str:
    text = '"int"'
    for n in range(levels):
        text = _record(f'{{"name":"f","type":{text}}}', f"R{n}")
    return text


def _avro_default_bomb() -> str:
    """Records without fields of their own values, whose default is that of all fields of a mesh of records."""
    records = [_record('{"name":"a","type":"int","default":1}', "R0")]
    for n in range(1, 60):
        one = f'"type":"R{n - 1}","default":{{}}'
        records.append(_record(f'{{"name":"a",{one}}},{{"name":"b",{one}}}', f"R{n}"))
    return f"[{','.join(records)}]"


def _odd_json(name: str, odd: str) -> dict[str, Callable[[], str]]:
    return {
        f"property-{name}": lambda: f'{{"type":"object","properties":{{"{odd}":{{"const":"{odd}"}}}}}}',
        f"pattern-{name}": lambda: f'{{"pattern":"[{odd}]","title":"{odd}"}}',
        f"ref-{name}": lambda: f'{{"definitions":{{"{odd}":{{}}}},"$ref":"#/definitions/{odd}"}}',
        f"id-{name}": lambda: f'{{"$id":"{odd}","$schema":"{odd}"}}',
    }


def _json() -> dict[str, Callable[[], str]]:
    results = dict(JSON_TEXTS)
    backtrack = ["(a+)+$", "(a|aa)+$", "(.*)*x", "([a-zA-Z]+)*$", "(x+x+)+y", r"^(\\d+)*$", "(?:(?:a{1,9}){1,9}){1,9}"]
    results |= {
        f"pattern-{n}": partial('{{"type":"string","pattern":"{}"}}'.format, pattern) for n, pattern in enumerate(backtrack)
    }
    results |= {
        "repeats": lambda: '{"pattern":"' + "((((a{1,999}){1,999}){1,999}){1,999}){1,999}" + '"}',
        "huge-repeat": lambda: '{"pattern":"a{' + "9" * 160_000 + '}"}',
        "unicode-repeats": lambda: '{"pattern":"(\\\\p{L}{999}){999}"}',
        "long-pattern": lambda: '{"pattern":"' + "a?" * 40_000 + "a" * 80_000 + '"}',
        "deep-pattern": lambda: '{"pattern":"' + "(" * 80_000 + ")" * 80_000 + '"}',
        "alternatives": lambda: '{"pattern":"^(' + _fill(lambda n: f"a{n}b", "|") + ')$"}',
        "lookaround": lambda: '{"pattern":"(?=(a+)+b)(?!(a*)*c)(?<=a)x"}',
        "back-reference": lambda: '{"pattern":"(a*)(b*)\\\\1\\\\2$"}',
        "many-patterns": lambda: '{"patternProperties":{' + _fill(lambda n: f'"(a+)+{n}":{{}}') + "}}",
        "bad-pattern": lambda: '{"pattern":"(("}',
        "many-properties": lambda: '{"type":"object","properties":{' + _fill(lambda n: f'"f{n}":{{"type":"integer"}}') + "}}",
        "other-many-properties": lambda: (
            '{"type":"object","properties":{' + _fill(lambda n: f'"g{n}":{{"type":"number"}}') + '},"additionalProperties":false}'
        ),
        "many-required": lambda: '{"type":"object","required":[' + _fill(lambda n: f'"f{n}"') + "]}",
        "deep-properties": lambda: _nested('{"properties":{"a":', "{}", "}}"),
        "deep-properties-within": lambda: _nested('{"properties":{"a":', "{}", "}}", 40),
        "deep-items": lambda: _nested('{"items":', "true", "}"),
        "deep-not": lambda: _nested('{"not":', "true", "}"),
        "deep-not-within": lambda: _nested('{"not":', '{"type":"string"}', "}", 40),
        "deep-any-of": lambda: _nested('{"anyOf":[', "{}", "]}"),
        "deep-any-of-within": lambda: _doubling("anyOf", 10),
        "deep-one-of-within": lambda: _doubling("oneOf", 10),
        "deep-all-of-within": lambda: _doubling("allOf", 10),
        "wide-one-of": lambda: '{"oneOf":[' + _fill(lambda n: f'{{"const":{n}}}') + "]}",
        "other-wide-one-of": lambda: '{"oneOf":[' + _fill(lambda n: f'{{"const":"{n}"}}') + "]}",
        "one-of-objects": lambda: '{"oneOf":[' + _fill(_object("string")) + "]}",
        "other-one-of-objects": lambda: '{"oneOf":[' + _fill(_object("integer")) + "]}",
        "any-of-objects": lambda: '{"anyOf":[' + _fill(_object("string")) + "]}",
        "other-any-of-objects": lambda: '{"anyOf":[' + _fill(_object("integer")) + "]}",
        "all-of-objects": lambda: '{"allOf":[' + _fill(_object("string")) + "]}",
        "other-all-of-objects": lambda: '{"allOf":[' + _fill(_object("integer")) + "]}",
        "product": lambda: _product("p"),
        "other-product": lambda: _product("q"),
        "many-values": lambda: '{"enum":[' + _fill(str) + "]}",
        "other-many-values": lambda: '{"enum":[' + _fill(lambda n: f'"{n}"') + "]}",
        "same-values": lambda: '{"enum":[' + _fill(lambda n: "1") + "]}",
        "deep-values": lambda: '{"enum":[' + _nested("[", "1", "]", 80_000) + "]}",
        "deep-values-within": lambda: '{"enum":[' + _nested('{"a":', "1", "}", 40) + "]}",
        "many-types": lambda: '{"type":[' + _fill(lambda n: '"string"') + "]}",
        "definitions-mesh": lambda: _json_mesh(3_000),
        "definitions-mesh-within": lambda: _json_mesh(200),
        "all-of-mesh": lambda: _json_all_of_mesh(800),
        "all-of-mesh-within": lambda: _json_all_of_mesh(40),
        "one-of-mesh": lambda: _json_all_of_mesh(40, "oneOf"),
        "ref-chain": lambda: _json_chain(4_000),
        # The library made a validator for each of the two to the power of 60 ways, until the meta-schema alone was asked.
        "ids-mesh": lambda: _json_ids_mesh(60),
        "ref-ring": lambda: '{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}',
        "ref-to-itself": lambda: '{"$ref":"#"}',
        "ref-in-not": lambda: '{"not":{"$ref":"#"}}',
        "recursive": lambda: '{"properties":{"a":{"$ref":"#"},"b":{"items":{"$ref":"#"}}},"additionalProperties":{"$ref":"#"}}',
        "recursive-one-of": lambda: '{"oneOf":[{"type":"null"},{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a"]}]}',
        "recursive-any-of": lambda: (
            '{"anyOf":[' + ",".join(f'{{"properties":{{"a{n}":{{"$ref":"#"}}}}}}' for n in range(60)) + "]}"
        ),
        "ref-to-url": lambda: '{"$ref":"http://127.0.0.1:9/x.json"}',
        "ref-to-metadata": lambda: '{"$ref":"http://169.254.169.254/latest/meta-data/"}',
        "ref-to-file": lambda: '{"$ref":"file:///etc/hostname"}',
        "ref-to-unc": lambda: '{"$ref":"//127.0.0.1/share/x.json"}',
        "schema-at-url": lambda: '{"$schema":"http://127.0.0.1:9/draft","type":"string"}',
        "schema-at-file": lambda: '{"$schema":"file:///etc/passwd","type":"string"}',
        "id-at-url": lambda: '{"$id":"http://127.0.0.1:9/a/","properties":{"a":{"$ref":"b.json"}}}',
        "odd-uris": lambda: (
            '{"$id":"http://[::1","properties":{"a":{"$ref":"http://[","$id":"//["},"b":{"$ref":"#%"},"c":{"$ref":"urn:"}}}'
        ),
        "odd-pointers": lambda: '{"items":[{"$ref":"#/items/-1"},{"$ref":"#/items/99999999999999999999"},{"$ref":"#/items/~2"}]}',
        "huge-pointer-number": lambda: '{"items":[{"$ref":"#/items/' + "9" * 100_000 + '"}]}',
        "unicode-digits-in-pointer": lambda: '{"items":[{"$ref":"#/items/\u0661"},{"$ref":"#/items/\u00b2"},{}]}',
        "many-refs": lambda: '{"definitions":{"a":{}},"properties":{' + _fill(lambda n: f'"f{n}":{{"$ref":"#/definitions/a"}}') + "}}",
        "long-ref": lambda: '{"$ref":"#' + "/a" * 80_000 + '"}',
        "long-id": lambda: '{"$id":"http://a/' + "a/" * 80_000 + '"}',
        "many-ids": lambda: '{"definitions":{' + _fill(lambda n: f'"a{n}":{{"$id":"a{n}"}}') + "}}",
        "many-same-ids": lambda: '{"definitions":{' + _fill(lambda n: f'"a{n}":{{"$id":"a"}}') + "}}",
        "nested-ids": lambda: _nested('{"$id":"a/","items":', "{}", "}", 40),
        "many-anchors": lambda: (
            '{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{'
            + _fill(lambda n: f'"a{n}":{{"$anchor":"a{n}","$ref":"#a{n + 1}"}}')
            + ',"z":{"$dynamicAnchor":"a","$dynamicRef":"#a"}}}'
        ),
        "dynamic-ring": lambda: (
            '{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}'
        ),
        "huge-bounds": lambda: '{"minimum":' + "9" * 4_000 + ',"maximum":1e400,"multipleOf":1e-400}',
        "very-huge-bounds": lambda: '{"minimum":' + "9" * 160_000 + "}",
        "huge-lengths": lambda: '{"minLength":' + "9" * 4_000 + ',"maxItems":1e300,"minProperties":1.0}',
        "zero-multiple": lambda: '{"multipleOf":0}',
        "tiny-multiple": lambda: '{"multipleOf":1e-320}',
        "long-multiple": lambda: '{"multipleOf":0.' + "0" * 150_000 + "1}",
        "many-items": lambda: '{"items":[' + _fill(lambda n: '{"type":"integer"}') + "]}",
        "other-many-items": lambda: '{"items":[' + _fill(lambda n: '{"type":"number"}') + '],"additionalItems":false}',
        "many-dependencies": lambda: '{"dependencies":{' + _fill(lambda n: f'"a{n}":["a{n + 1}"]') + "}}",
        "if-chain": lambda: _nested('{"if":{"const":1},"then":{"const":2},"else":', "{}", "}", 30),
        "wrong-kinds": lambda: '{"type":1,"properties":[],"required":"a","items":3,"$ref":{},"enum":{},"allOf":{},"$id":[]}',
        "ref-of-wrong-kind": lambda: '{"properties":{"a":{"$ref":1},"$ref":{"type":"string"}},"enum":[{"$ref":"http://x/"}]}',
        "unevaluated": lambda: (
            '{"$schema":"https://json-schema.org/draft/2019-09/schema","allOf":['
            + ",".join(f'{{"properties":{{"a{n}":{{"type":"string"}}}}}}' for n in range(500))
            + '],"unevaluatedProperties":false}'
        ),
    }  # fmt: skip
    for name, odd in ODD_TEXTS.items():
        results |= _odd_json(name, odd)
    return results


def _object(kind: str) -> Callable[[int], str]:
    return lambda n: f'{{"type":"object","properties":{{"k{n}":{{"type":"{kind}"}},"k":{{"const":{n}}}}},"required":["k"]}}'


def _doubling(keyword: str, levels: int) -> str:
    text = '{"type":"string"}'
    for n in range(levels):
        text = f'{{"{keyword}":[{text},{{"properties":{{"a{n}":{text if len(text) < 60_000 else "{}"}}}}}]}}'
    return text


def _product(prefix: str) -> str:
    """A conjunction of choices: as many combinations as two to the power of its length."""
    choice = (
        f'{{"anyOf":[{{"properties":{{"{prefix}{n}":{{"type":"string"}}}}}},{{"required":["{prefix}{n}"]}}]}}'
        for n in range(900)
    )
    return f'{{"allOf":[{",".join(choice)}]}}'


def _json_mesh(number: int) -> str:
    parts = [
        f'"d{n}":{{"properties":{{"a":{{"$ref":"#/definitions/d{n + 1}"}},"b":{{"$ref":"#/definitions/d{n + 2}"}}}}}}'
        for n in range(number)
    ]
    parts += [f'"d{number}":{{"type":"string"}}', f'"d{number + 1}":{{"type":"integer"}}']
    return f'{{"definitions":{{{",".join(parts)}}},"$ref":"#/definitions/d0"}}'[:SIZE] if number > 2_000 else (
        f'{{"definitions":{{{",".join(parts)}}},"$ref":"#/definitions/d0"}}'
    )  # fmt: skip


def _json_all_of_mesh(number: int, keyword: str = "allOf") -> str:
    """Each definition applies the two behind it to the same value."""
    parts = [
        f'"d{n}":{{"{keyword}":[{{"$ref":"#/definitions/d{n + 1}"}},{{"$ref":"#/definitions/d{n + 2}"}}]}}'
        for n in range(number)
    ]
    parts += [f'"d{number}":{{"type":"string"}}', f'"d{number + 1}":{{"maxLength":9}}']
    return f'{{"definitions":{{{",".join(parts)}}},"allOf":[{{"$ref":"#/definitions/d0"}}]}}'


def _json_ids_mesh(number: int) -> str:
    """Schemas with URIs of their own, each with properties of the two before it."""
    parts = [
        f'"r{n}":{{"$id":"r{n}","properties":{{"a":{{"$ref":"r{max(0, n - 1)}"}},"b":{{"$ref":"r{max(0, n - 2)}"}}}}}}'
        for n in range(number)
    ]
    return f'{{"definitions":{{{",".join(parts)}}},"$ref":"r{number - 1}"}}'


def _json_chain(number: int) -> str:
    parts = ",".join(f'"d{n}":{{"$ref":"#/definitions/d{n + 1}"}}' for n in range(number))
    return f'{{"definitions":{{{parts},"d{number}":{{}}}},"properties":{{"a":{{"$ref":"#/definitions/d0"}}}}}}'


def _proto(body: str, syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; {body}'


def _odd_protobuf(name: str, odd: str) -> dict[str, Callable[[], str]]:
    return {
        f"name-{name}": lambda: _proto(f"message A{odd} {{}}"),
        f"comment-{name}": lambda: _proto(f"/* {odd} */ message A {{ int32 a = 1; // {odd}\n }}"),
        f"string-{name}": lambda: _proto(f'option java_package = "{odd}"; message A {{}}'),
        f"default-{name}": lambda: _proto(f'message A {{ optional string a = 1 [default = "{odd}"]; }}', "proto2"),
    }


def _protobuf() -> dict[str, Callable[[], str]]:
    results: dict[str, Callable[[], str]] = {
        "braces": lambda: "{" * SIZE,
        "blank": lambda: " " * SIZE,
        "lines": lambda: "\n" * SIZE,
        "comment-open": lambda: "/*" * (SIZE // 2),
        "many-comments": lambda: _proto("/**/" * 40_000 + "message A {}"),
        "many-lines-of-comment": lambda: _proto("//\n" * 50_000 + "message A {}"),
        "quotes": lambda: "\"'" * (SIZE // 2),
        "syntax-only": lambda: 'syntax = "proto9";',
        "edition": lambda: 'edition = "9999"; message A {}',
        "deep-messages": lambda: _proto(_nested("message A{", "", "}")),
        "deep-messages-within": lambda: _proto(_nested("message A{", "int32 a = 1;", "}", 28)),
        "deep-groups": lambda: _proto(_nested("optional group G = 1 {", "", "}"), "proto2"),
        "deep-types": lambda: _proto(f"message A {{ {'a.' * 80_000}B f = 1; }}"),
        "deep-maps": lambda: _proto("message A { " + "map<int32," * 15_000 + "A" + ">" * 15_000 + " m = 1; }"),
        "many-messages": lambda: _proto(_fill(lambda n: f"message M{n} {{ int32 a = 1; }}", " ")),
        "other-many-messages": lambda: _proto(_fill(lambda n: f"message N{n} {{ string a = 1; }}", " ")),
        "many-fields": lambda: _proto("message A {" + _fill(lambda n: f"int32 f{n} = {n + 1};", " ")[:160_000].rpartition(";")[0] + ";}"),
        "other-many-fields": lambda: _proto("message A {" + _fill(lambda n: f"string g{n} = {n + 1};", " ", 160_000) + "}"),
        "field-numbers-around-the-reserved": lambda: _proto("message A {" + _fill(lambda n: f"int32 f{n} = {19_000 + n};", " ") + "}"),
        "many-one-ofs": lambda: _proto("message A {" + _fill(lambda n: f"oneof o{n} {{ int32 f{n} = {n + 1}; }}", " ") + "}"),
        "wide-one-of": lambda: _proto("message A { oneof o {" + _fill(lambda n: f"int32 f{n} = {n + 1};", " ") + "}}"),
        "other-wide-one-of": lambda: _proto("message A {" + _fill(lambda n: f"int32 f{n} = {n + 1};", " ", 60_000) + " oneof p { int32 z = 536870911; }}"),
        "many-maps": lambda: _proto("message A {" + _fill(lambda n: f"map<string,A> f{n} = {n + 1};", " ") + "}"),
        "many-values": lambda: _proto("message A { E e = 1; } enum E {" + _fill(lambda n: f"V{n} = {n};", " ") + "}"),
        "other-many-values": lambda: _proto("message A { E e = 1; } enum E {" + _fill(lambda n: f"W{n} = {n};", " ") + "}"),
        "aliased-values": lambda: _proto("enum E { option allow_alias = true;" + _fill(lambda n: f"V{n} = 0;", " ") + "}"),
        "many-enums": lambda: _proto(_fill(lambda n: f"enum E{n} {{ V{n} = 0; }}", " ")),
        "many-reserved": lambda: _proto("message A { reserved " + ", ".join(f"{2 * n + 1}" for n in range(5_000)) + "; }"),
        "too-many-reserved": lambda: _proto("message A { reserved " + _fill(lambda n: f"{2 * n + 1}", ", ", 160_000) + "; }"),
        "many-reserved-names": lambda: _proto("message A { reserved " + _fill(lambda n: f'"f{n}"', ", ") + "; }"),
        # One complaint a pair: 4 s of the processor and all of its memory, until the compiler was stopped after the first thousands.
        "overlapping-reserved": lambda: _proto("message A { reserved " + _fill(lambda n: "1 to max", ", ", 8_000) + "; }"),
        "overlapping-extensions": lambda: _proto("message A {" + "extensions 1 to max;" * 4_900 + "}", "proto2"),
        "fields-in-reserved": lambda: _proto("message A { reserved " + "1 to max," * 4_900 + "1;" + _fill(lambda n: f"A f{n} = {n + 1};", " ", 110_000) + "}"),
        "values-in-reserved": lambda: _proto("enum A { reserved " + "0 to max," * 4_900 + "1;" + _fill(lambda n: f"V{n} = {n};", " ", 110_000) + "}"),
        "very-overlapping-reserved": lambda: _proto("message A { reserved " + _fill(lambda n: "1 to max", ", ", 160_000) + "; }"),
        "many-extensions": lambda: _proto("message A { extensions " + _fill(lambda n: f"{2 * n + 1}", ", ", 160_000) + "; }", "proto2"),
        "many-methods": lambda: _proto("message A {} service S {" + _fill(lambda n: f"rpc R{n}(stream A) returns (A);", " ") + "}"),
        "many-options": lambda: _proto(_fill(lambda n: 'option java_package = "a";', " ")),
        "many-field-options": lambda: _proto("message A { int32 a = 1 [" + _fill(lambda n: "deprecated = true", ",") + "]; }"),
        "many-imports": lambda: _proto(_fill(lambda n: 'import "google/protobuf/timestamp.proto";', " ")),
        "many-shipped-imports": lambda: _proto(
            " ".join(f'import "google/protobuf/{name}.proto";' for name in ("any", "api", "descriptor", "duration", "empty",
                     "field_mask", "source_context", "struct", "timestamp", "type", "wrappers")) + " message A { google.protobuf.Struct s = 1; }"
        ),
        "import-of-a-file": lambda: _proto('import "/etc/hostname"; message A {}'),
        "import-above": lambda: _proto('import "../../../../etc/hostname"; message A {}'),
        "import-of-a-url": lambda: _proto('import "http://127.0.0.1:9/x.proto"; message A {}'),
        "import-itself": lambda: _proto('import "definition.proto"; import "schema.proto"; message A {}'),
        "recursive": lambda: _proto("message A { A a = 1; repeated A b = 2; map<string,A> c = 3; oneof o { A d = 4; B e = 5; } } message B { A a = 1; }"),
        "mesh": lambda: _proto_mesh("int32"),
        "other-mesh": lambda: _proto_mesh("string"),
        "required-ring": lambda: _proto("message A { required B b = 1; } message B { required A a = 1; }", "proto2"),
        "full-graph": lambda: _proto_graph("M"),
        "other-full-graph": lambda: _proto_graph("N"),
        "long-name": lambda: _proto("message " + "A" * 160_000 + " {}"),
        "long-field-name": lambda: _proto("message A { int32 " + "a" * 160_000 + " = 1; }"),
        "long-package": lambda: _proto("package " + "a." * 80_000 + "a; message A {}"),
        "long-package-within": lambda: _proto("package " + "a" * 400 + "; " + _fill(lambda n: f"message M{n} {{ M{n} a = 1; }}", " ", 160_000)),
        "long-string-option": lambda: _proto('option java_package = "' + "a" * 160_000 + '"; message A {}'),
        "long-default": lambda: _proto('message A { optional string a = 1 [default = "' + "\\x00" * 40_000 + '"]; }', "proto2"),
        "huge-field-number": lambda: _proto("message A { int32 a = " + "9" * 160_000 + "; }"),
        "negative-field-number": lambda: _proto("message A { int32 a = -1; int32 b = 0; int32 c = 536870912; }"),
        "huge-value": lambda: _proto("enum E { A = 0; B = 99999999999999999999; }"),
        "huge-default": lambda: _proto("message A { optional double d = 1 [default = 1e999999999]; optional int64 i = 2 [default = -9223372036854775809]; }", "proto2"),
        "nan-default": lambda: _proto("message A { optional double d = 1 [default = nan]; optional float f = 2 [default = -inf]; }", "proto2"),
        "octal-everywhere": lambda: _proto("message A { int32 a = 0777; int32 b = 0x1f; int32 c = 08; }"),
        "custom-options": lambda: _proto(
            'import "google/protobuf/descriptor.proto"; extend google.protobuf.FieldOptions {'
            + _fill(lambda n: f"optional string o{n} = {50_000 + n};", " ", 60_000)
            + "} message A { optional int32 a = 1 ["
            + _fill(lambda n: f'(o{n}) = "x"', ",", 30_000)
            + "]; }",
            "proto2",
        ),
        "extends-everything": lambda: _proto(
            'import "google/protobuf/descriptor.proto"; ' + _fill(lambda n: f"extend google.protobuf.FileOptions {{ optional int32 x{n} = {50_000 + n}; }}", " "),
            "proto2",
        ),
        "message-set": lambda: _proto("message A { option message_set_wire_format = true; extensions 4 to max; } message B { extend A { optional B b = 2147483646; } }", "proto2"),
        "json-names-that-clash": lambda: _proto("message A {" + _fill(lambda n: f"int32 a{'_' * (n % 50)}b{n} = {n + 1};", " ") + "}"),
        "undefined": lambda: _proto("message A {" + _fill(lambda n: f"B{n} f{n} = {n + 1};", " ") + "}"),
        "duplicates": lambda: _proto(_fill(lambda n: "message A {}", " ")),
        "map-entries": lambda: _proto(
            "message A {" + _fill(lambda n: f"repeated F{n}Entry f{n} = {n + 1}; message F{n}Entry {{ option map_entry = true; string key = 1; A value = 2; }}", " ") + "}"
        ),
        "semicolons": lambda: _proto(";" * 160_000),
        "base64-noise": lambda: "QUFB" * 42_000,
        "base64-nesting": _descriptor_nest,
    }  # fmt: skip
    for name, odd in ODD_TEXTS.items():
        results |= _odd_protobuf(name, odd)
    return results


def _proto_mesh(kind: str) -> str:
    parts = [f"message M{n} {{ M{n + 1} a = 1; M{n + 2} b = 2; }}" for n in range(3_300)]
    return f'syntax = "proto3"; {" ".join(parts)} message M3300 {{ {kind} a = 1; }} message M3301 {{}}'


def _proto_graph(prefix: str) -> str:
    """Each message has a field of every message."""
    fields = [" ".join(f"{prefix}{n} f{n} = {n + 1};" for n in range(90))] * 90
    return 'syntax = "proto3"; ' + " ".join(f"message {prefix}{n} {{ {text} }}" for n, text in enumerate(fields))


def _descriptor_nest() -> str:
    data = b""
    while len(data) < 100_000:
        size, head = len(data), bytearray()
        while size > 127:
            head.append(size & 127 | 128)
            size >>= 7
        data = b"\x1a" + bytes([*head, size]) + data
        if len(data) > 12_000:
            break
    return base64.b64encode(data).decode()


HOSTILE["AVRO"] |= _avro()
HOSTILE["JSON"] |= _json()
HOSTILE["PROTOBUF"] |= _protobuf()
