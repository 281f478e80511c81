"""Requests of any shape: never a defect, always Confluent's error body; and histories that keep the registry's promises."""

import json
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi

NAMES = st.sampled_from(
    ["s", "t", ":.a:s", ":.a:", ":.:s", ":*:", ":.__GLOBAL:", "a/b", "$2F", "", ".", "..", "é"]
) | st.text(max_size=8)
VERSIONS = st.sampled_from(["1", "2", "latest", "-1", "0", "x", "2147483647", "2147483648"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.sampled_from([V1, V2, V3, BROKEN, "{", "", '"string"', 'syntax = "proto3"; message M {}', "[" * 2_000])
CONTRACTS = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(
            st.sampled_from(["owner", "confluent:reserved", "é"]), st.sampled_from(["a", "b,a", "", " , "]), max_size=2
        ),
        "tags": st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=2), max_size=2),
        "sensitive": st.lists(st.text(max_size=3), max_size=2),
    },
)
BODIES = JSON | st.fixed_dictionaries(
    {},
    optional={
        "schema": SCHEMAS | JSON,
        "schemaType": st.sampled_from(["AVRO", "JSON", "avro", "XML"]) | JSON,
        "references": st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=4), "subject": NAMES, "version": st.integers(-2, 3)}) | JSON,
            max_size=3,
        )
        | JSON,
        "id": st.integers(-2, 2**40) | JSON,
        "version": st.integers(-2, 2**40) | JSON,
        "compatibility": st.sampled_from(["FULL", "none", "DISABLED"]) | JSON,
        "mode": st.sampled_from(["IMPORT", "readonly", "READWRITE", "READONLY_OVERRIDE"]) | JSON,
        "normalize": JSON,
        "metadata": CONTRACTS | JSON,
    },
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "compatibility": st.sampled_from(["FULL", "none", "FORWARD_TRANSITIVE"]) | st.none() | JSON,
        "alias": NAMES | JSON,
        "normalize": st.booleans() | JSON,
        "validateFields": st.booleans() | JSON,
        "compatibilityPolicy": st.sampled_from(["STRICT", "lenient", "LOGICAL"]) | JSON,
        "compatibilityGroup": st.sampled_from(["owner", ""]) | JSON,
        "defaultMetadata": CONTRACTS | JSON,
        "overrideMetadata": CONTRACTS | JSON,
        "defaultRuleSet": JSON,
        "validateNewSchemas": JSON,
    },
)
SEGMENTS = st.sampled_from(
    [
        "subjects",
        "versions",
        "schema",
        "referencedby",
        "schemas",
        "ids",
        "guids",
        "types",
        "config",
        "mode",
        "compatibility",
        "contexts",
        "v1",
        "metadata",
        "id",
    ]
)
PATHS = st.lists(SEGMENTS | NAMES | VERSIONS, max_size=7).map(
    lambda parts: "/" + "/".join(quote(part, safe="") for part in parts)
)
KNOWN_PATHS = st.one_of(
    st.builds("/subjects/{}/versions".format, NAMES.map(lambda name: quote(name, safe=""))),
    st.builds("/subjects/{}".format, NAMES.map(lambda name: quote(name, safe=""))),
    st.builds("/subjects/{}/versions/{}".format, NAMES.map(lambda name: quote(name, safe="")), VERSIONS),
    st.builds("/compatibility/subjects/{}/versions/{}".format, NAMES.map(lambda name: quote(name, safe="")), VERSIONS),
    st.builds("/config/{}".format, NAMES.map(lambda name: quote(name, safe=""))),
    st.builds("/mode/{}".format, NAMES.map(lambda name: quote(name, safe=""))),
    st.builds("/schemas/ids/{}/versions".format, VERSIONS),
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "deleted",
            "deletedOnly",
            "permanent",
            "subjectPrefix",
            "offset",
            "limit",
            "verbose",
            "force",
            "subject",
            "format",
            "latestOnly",
        ]
    ),
    st.sampled_from(["true", "false", "-1", "0", "1", ":.a:", ":*:", "s", "x" * 50, "", "resolved", "serialized"]),
    max_size=3,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["GET", "POST", "PUT", "DELETE"]), PATHS | KNOWN_PATHS, QUERIES, BODIES | CONFIGS),
        min_size=1,
        max_size=6,
    )
)
def test_no_request_is_a_defect(requests: list[Any]) -> None:
    api = ConfluentApi()
    for method, path, query, body in requests:
        answer = api.http.request(method, f"http://testserver{path}", params=query, content=json.dumps(body))
        assert answer.status_code < 500, (method, path, query, body, answer.text)
        if answer.status_code != 200:
            said = answer.json()
            assert set(said) <= {"error_code", "message", "incompatibilities"}
            assert str(said["error_code"])[:3] == str(answer.status_code)
            assert said["message"]
    api.app.close()


class Histories(RuleBasedStateMachine):
    """Registrations, deletions and lookups in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.api = ConfluentApi()
        self.api.put("/config", compatibility="NONE")
        self.ids: dict[str, int] = {}
        self.numbers: dict[str, int] = {}

    @rule(subject=st.sampled_from("st"), schema=st.sampled_from([V1, V2, V3, BROKEN]))
    def register(self, subject: str, schema: str) -> None:
        answer = self.api.register(subject, schema)
        assert self.ids.setdefault(schema, answer["id"]) == answer["id"]
        self.numbers[subject] = max(self.numbers.get(subject, 0), answer["version"])
        result = self.api.post(f"/subjects/{subject}", schema=schema)[1]
        assert (result["id"], result["version"]) == (answer["id"], answer["version"])

    @rule(subject=st.sampled_from("st"), number=st.integers(1, 4), permanent=st.sampled_from(["", "?permanent=true"]))
    def delete_version(self, subject: str, number: int, permanent: str) -> None:
        _, live = self.api.get(f"/subjects/{subject}/versions")
        _, every = self.api.get(f"/subjects/{subject}/versions?deleted=true")
        status, answer = self.api.delete(f"/subjects/{subject}/versions/{number}{permanent}")
        if permanent:
            expected = isinstance(every, list) and number in every and not (isinstance(live, list) and number in live)
        else:
            expected = isinstance(live, list) and number in live
        assert (status == 200) is expected
        if status == 200:
            assert answer == number
            self.forget_lost()

    @rule(subject=st.sampled_from("st"), permanent=st.sampled_from(["", "?permanent=true"]))
    def delete_subject(self, subject: str, permanent: str) -> None:
        status, _ = self.api.delete(f"/subjects/{subject}{permanent}")
        if status == 200 and permanent:
            self.numbers.pop(subject, None)
        self.forget_lost()

    def teardown(self) -> None:
        self.api.app.close()

    def forget_lost(self) -> None:
        """A schema that no version holds any more may come back under another id."""
        for schema, schema_id in list(self.ids.items()):
            if self.api.get(f"/schemas/ids/{schema_id}")[0] == 404:
                del self.ids[schema]

    @invariant()
    def ids_lead_to_their_schemas(self) -> None:
        for schema, schema_id in self.ids.items():
            assert self.api.get(f"/schemas/ids/{schema_id}")[1]["schema"] == schema

    @invariant()
    def listings_agree(self) -> None:
        listed = {(item["subject"], item["version"]) for item in self.api.get("/schemas")[1]}
        _, subjects = self.api.get("/subjects")
        assert {subject for subject, _ in listed} == set(subjects)
        for subject in subjects:
            numbers = self.api.get(f"/subjects/{subject}/versions")[1]
            assert numbers == sorted(number for name, number in listed if name == subject)
            assert numbers[-1] <= self.numbers[subject]
            assert self.api.get(f"/subjects/{subject}/versions/latest")[1]["version"] == numbers[-1]


Histories.TestCase.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
TestHistories = Histories.TestCase
