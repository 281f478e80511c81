"""The function of these tests: it writes its events to a file, and fails if the environment says so."""

import base64
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

OUT = Path(os.environ["OUT"])


def entries(event: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    if "Records" in event:
        for record in event["Records"]:
            place = record["eventID"].partition(":")
            yield place[0], record["kinesis"]["sequenceNumber"], base64.b64decode(record["kinesis"]["data"]).decode()
    for name, group in event.get("records", {}).items():
        for item in group:
            yield name, item["offset"], base64.b64decode(item["value"] or "").decode(errors="replace")


def note(name: str, lines: Iterable[dict[str, Any]]) -> None:
    # One write an invocation: a kill leaves whole lines.
    with (OUT / name).open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    results = list(entries(event))
    note("begun", [{"id": context.aws_request_id, "pid": os.getpid(), "count": len(results)}])
    for _, _, value in results:
        if os.environ.get("POISON") and os.environ["POISON"] in value:
            raise ValueError(f"poison in {value}")
        if value == os.environ.get("KILLER") and not (OUT / "killed").exists():
            (OUT / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("SLOW", "0")))
    deadline = time.monotonic() + 60
    while (OUT / "hold").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    note("done", [{"p": p, "o": o, "v": v} for p, o, v in results])
    return {}


def reporting(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Reports the records that are poison, and does the others."""
    failed = []
    for name, offset, value in entries(event):
        if os.environ["POISON"] in value:
            failed.append({"itemIdentifier": offset if "Records" in event else {"partition": name, "offset": offset}})
        elif not failed:
            note("done", [{"p": name, "o": offset, "v": value}])
    return {"batchItemFailures": failed}
