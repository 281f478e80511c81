"""The audit log's records, files and queue."""

import json
import time
import uuid
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.access.audit.event import OUTCOMES, AuditEvent, render_event, render_parameters
from penstock.access.audit.log import AuditFolder, AuditUnavailable, AuditWriter
from penstock.access.audit.reading import Wanted, broken_chains, matching, unexported
from penstock.access.audit.segments import Retention, Segments, segments_in
from penstock.access.principals import Caller, SessionContext
from penstock.access.sessions import Sessions
from penstock.api.aws.protocol.models import SERVICES, load_model
from penstock.api.vending import SessionVendor
from penstock.store.sql.sealing import Sealer

A = "111122223333"
ROLE = f"arn:aws:iam::{A}:role/team/reader"
NOW = 1_763_795_555.0
# Members that botocore marks as sensitive and that are not secret: names, descriptions, numbers of Glue's.
NO_SECRETS = {"AccountName", "Description", "Email", "Id", "Name", "Notes", "SourceName", "StatisticProperties"}
NO_SECRETS |= {"CodeGenConfigurationNodes", "EvaluatedDistributions", "EvaluatedMetrics", "EvaluatedRule"}
NO_SECRETS |= {"EvaluationMessage", "RuleMetrics"}
# Of Lake Formation's planning of queries; Athena's member of that name is not marked.
NO_SECRETS |= {"QueryString"}


def event(**changed: Any) -> AuditEvent:
    members: dict[str, Any] = {
        "time": NOW,
        "service": "glue",
        "operation": "GetSchema",
        "outcome": OUTCOMES[0],
        "region": "us-east-1",
        "account": A,
        "request_id": "1",
        "client": "10.0.0.1",
    }
    return AuditEvent(**(members | changed))


def note_all(writer: AuditWriter, events: Iterable[AuditEvent]) -> None:
    for pair in events:
        writer.write(pair)


def record(**changed: Any) -> Any:
    return json.loads(render_event(event(**changed), ""))


def test_identities_are_rendered_as_in_cloudtrail() -> None:
    user = Caller(account=A, principal=f"arn:aws:iam::{A}:user/ana", user_id="AIDA1")
    assert record(caller=user)["userIdentity"]["type"] == "IAMUser"
    assert record(caller=user)["userIdentity"]["userName"] == "ana"
    facts = SessionContext(issued=int(NOW), expires=int(NOW) + 60, role=ROLE, session_name="s")
    session = Caller(account=A, principal=f"arn:aws:sts::{A}:assumed-role/reader/s", user_id="AROA1:s", session=facts)
    identity = record(caller=session)["userIdentity"]
    assert identity["type"] == "AssumedRole"
    assert identity["sessionContext"]["sessionIssuer"]["arn"] == ROLE
    vended = SessionVendor(sessions=Sessions(Sealer(bytes(32)))).scoped(user, frozenset({"s3://lake/t/"}), ["s3:GetObject"])
    assert vended is not None
    identity = record(caller=vended.caller)["userIdentity"]
    assert (identity["type"], identity["arn"]) == ("FederatedUser", f"arn:aws:sts::{A}:federated-user/ana")
    assert identity["sessionContext"]["sessionIssuer"]["arn"] == user.principal
    root = Caller(account=A, principal=f"arn:aws:iam::{A}:root", user_id=A)
    assert record(caller=root)["userIdentity"]["type"] == "Root"
    assert record(access_key_id="AKIA1")["userIdentity"] == {"type": "Unknown", "principalId": "", "accessKeyId": "AKIA1"}


def test_no_member_that_botocore_marks_as_sensitive_is_shown() -> None:
    members: set[str] = set()
    for service in SERVICES:
        model = load_model(service)
        for operation in model.operations.values():
            if "input" in operation:
                members |= _sensitive(model.shapes, operation["input"]["shape"], set())
    assert "SecretString" in members
    parameters = dict.fromkeys(members - NO_SECRETS, "s3cr3t") | {"SchemaName": "s"}
    shown = render_event(event(parameters={"Outer": [parameters]} | parameters), "")
    assert b"s3cr3t" not in shown
    assert b'"SchemaName":"s"' in shown


def _sensitive(shapes: Any, name: str, seen: set[str]) -> set[str]:
    if name in seen:
        return set()
    seen.add(name)
    results: set[str] = set()
    for member, of in shapes[name].get("members", {}).items():
        results |= {member} if shapes[of["shape"]].get("sensitive") else set()
        results |= _sensitive(shapes, of["shape"], seen)
    for part in ("member", "key", "value"):
        if part in shapes[name]:
            results |= _sensitive(shapes, shapes[name][part]["shape"], seen)
    return results


def test_parameters_are_bounded() -> None:
    long = record(parameters={"SchemaDefinition": "x" * 5_000, "Data": b"\xff", "Deep": {"a": {"b": [1, 2]}}})
    assert long["requestParameters"]["schemaDefinition"].endswith("... (5000 characters)")
    assert long["requestParameters"]["data"] == "***OMITTED***"
    assert long["requestParameters"]["deep"] == {"a": {"b": [1, 2]}}
    many = record(parameters={f"Member{number}": "x" * 900 for number in range(50)})
    assert set(many["requestParameters"].values()) == {"***OMITTED***"}


def test_parameters_that_were_cut_before_they_waited_are_cut_once() -> None:
    large = render_parameters({"SchemaDefinition": "x" * 50_000, "SecretString": "s3cr3t"})
    shown = record(parameters=large)["requestParameters"]
    assert shown == {"schemaDefinition": "x" * 1_000 + "... (50000 characters)", "secretString": "***OMITTED***"}


def test_parameters_that_are_not_text_are_left_out() -> None:
    assert record(parameters={"Path": "\ud800"})["requestParameters"] is None


def test_each_record_has_an_id_of_its_own() -> None:
    ids = [uuid.UUID(record()["eventID"]) for _ in range(20)]
    assert len(set(ids)) == 20
    assert {id_.version for id_ in ids} == {4}


def test_parameters_that_cannot_be_rendered_are_left_out() -> None:
    def fails() -> Any:
        raise RuntimeError

    assert record(resources=fails)["resources"] == []


def lines(*ids: str) -> list[Any]:
    return [lambda previous, id_=id_: render_event(event(request_id=id_), previous) for id_ in ids]


def test_files_are_rotated_and_removed_by_size_and_age(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    segments = Segments(folder, "decisions", Retention(segment_bytes=1_000, segment_seconds=100, keep_seconds=1_000))
    for number in range(4):
        segments.append(lines(f"{number}a", f"{number}b"), NOW + number)
    assert len(list(segments_in(folder))) == 4
    segments.append(lines("5"), NOW + 300)
    assert len(list(segments_in(folder))) == 5
    assert broken_chains(folder) == []
    segments.apply_retention(time.time() + 2_000)
    # Its own file stays.
    assert len(list(segments_in(folder))) == 1
    segments.close()


def test_the_oldest_files_are_removed_beyond_the_size(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    segments = Segments(folder, "decisions", Retention(segment_bytes=500, keep_bytes=2_000))
    for number in range(6):
        segments.append(lines(str(number)), NOW + number)
    oldest = next(segments_in(folder))
    # Another process may still write to a file that was changed a moment ago.
    segments.apply_retention(time.time())
    assert oldest.exists()
    segments.apply_retention(time.time() + 300)
    left = list(segments_in(folder))
    assert oldest not in left
    assert sum(file.stat().st_size for file in left) <= 2_000
    segments.close()


def test_a_file_that_another_process_removes_meanwhile_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "audit"
    segments = Segments(folder, "decisions", Retention())
    segments.append(lines("1"), NOW)
    gone = folder / "decisions-gone.jsonl"
    monkeypatch.setattr("penstock.access.audit.segments.segments_in", lambda *_: [gone])
    segments.apply_retention(time.time())
    segments.close()


def test_a_changed_or_missing_line_is_detected(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    segments = Segments(folder, "decisions", Retention())
    segments.append(lines("1", "2", "3", "4"), NOW)
    segments.close()
    (file,) = segments_in(folder)
    whole = file.read_bytes()
    assert broken_chains(folder) == []
    file.write_bytes(whole.replace(b'"requestID":"2"', b'"requestID":"9"'))
    assert broken_chains(folder) == [f"{file.name}:3"]
    item = whole.splitlines(keepends=True)
    file.write_bytes(b"".join([item[0], *item[2:]]))
    assert broken_chains(folder) == [f"{file.name}:2"]


def test_the_newest_that_match_are_found_and_each_line_is_exported_once(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    segments = Segments(folder, "decisions", Retention(segment_bytes=1_500))
    for number in range(6):
        denied = {"outcome": OUTCOMES[1], "code": "AccessDeniedException"} if number % 2 else {}
        made = event(time=NOW + number, request_id=str(number), **denied)
        segments.append([partial(render_event, made)], NOW + number)
    segments.close()
    results = matching(folder, Wanted(decision="denied"), 2)
    assert [entry["requestID"] for entry in results] == ["5", "3"]
    assert [entry["requestID"] for entry in matching(folder, Wanted(event_name="Other"), 2)] == []
    first = list(unexported(folder, {}))
    assert [json.loads(line)["requestID"] for line, _, _ in first] == list("012345")
    position = {name: end for _, name, end in first[:4]}
    assert [json.loads(line)["requestID"] for line, _, _ in unexported(folder, position)] == list("45")


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A folder that cannot be made."""
    place = tmp_path / "audit"
    place.write_text("in the way")
    return place


def test_changes_and_denials_are_never_dropped_and_reads_are_counted(blocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.access.audit.log._MOST_WAITING", 20)
    monkeypatch.setattr("penstock.access.audit.log._SPARE", 10)
    writer = AuditWriter(AuditFolder(path=blocked, retention=Retention()))
    for number in range(15):
        writer.write(event(request_id=f"read {number}"))
    denied = (event(request_id=f"denied {number}", outcome=OUTCOMES[1]) for number in range(40))
    with pytest.raises(AuditUnavailable):
        note_all(writer, denied)
    with pytest.raises(AuditUnavailable):
        writer.check()
    blocked.unlink()
    writer.close()
    written = [json.loads(line) for file in segments_in(blocked) for line in file.read_bytes().splitlines()]
    lost = [item["requestParameters"]["count"] for item in written if item["eventName"] == "ReadsNotRecorded"]
    reads = [item for item in written if item["requestID"].startswith("read")]
    assert len(reads) + sum(lost) == 15
    assert sum(lost) > 0
    assert sum(item["requestID"].startswith("denied") for item in written) >= 10


def test_a_change_that_was_made_is_recorded_even_if_the_queue_is_full(
    blocked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.access.audit.log._MOST_WAITING", 1)
    writer = AuditWriter(AuditFolder(path=blocked, retention=Retention()))
    writer.write(event(operation="CreateSchema", request_id="first"))
    with pytest.raises(AuditUnavailable):
        note_all(writer, (event(operation="CreateSchema", code="Refused") for _ in range(3_000)))
    writer.write(event(operation="CreateSchema", request_id="last"))
    blocked.unlink()
    writer.close()
    written = [json.loads(line)["requestID"] for file in segments_in(blocked) for line in file.read_bytes().splitlines()]
    assert (written[0], written[-1]) == ("first", "last")


def test_allowed_reads_can_be_left_out(tmp_path: Path) -> None:
    writer = AuditWriter(AuditFolder(path=tmp_path / "audit", records_reads=False, retention=Retention()))
    writer.write(event(request_id="read"))
    writer.write(event(request_id="denied", outcome=OUTCOMES[1]))
    writer.write(event(request_id="login", outcome=OUTCOMES[2]))
    writer.close()
    kinds = {file.name.partition("-")[0]: file.read_text() for file in segments_in(tmp_path / "audit")}
    assert '"read"' not in kinds["decisions"]
    assert '"denied"' in kinds["decisions"]
    assert '"login"' in kinds["logins"]
