"""Speaks the protocol of Spark SQL's process, without Spark: the query's text says what happens."""

import json
import os
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

channel: "Connection[Any, Any]" = Connection(int(sys.argv[1]))
settings = json.loads(channel.recv_bytes())
while True:
    if not channel.poll(settings["idle_seconds"]):
        os._exit(0)
    request = json.loads(channel.recv_bytes())
    what = request.get("sql", "cancelled")
    if what == "idle":
        os._exit(0)
    if what == "die":
        os._exit(3)
    if what == "hang":
        time.sleep(600)
    if what == "wait":
        request["number"] = json.loads(channel.recv_bytes())["number"]
        what = "cancelled"
    answer: dict[str, Any] = {"kind": "done", "pid": os.getpid(), "number": request["number"]}
    if what in {"wrong", "cancelled", "ending"}:
        answer |= {"kind": "failed", "code": "DIVISION_BY_ZERO", "message": what, "ending": what == "ending"}
    channel.send_bytes(json.dumps(answer).encode())
    if what == "ending":
        channel.poll(2)  # the next query might come while it ends
        os._exit(1)
