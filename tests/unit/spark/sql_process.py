"""Speaks the protocol of Spark SQL's process, without Spark: the query's text says what happens."""

import os
import pickle
import sys
import time
from contextlib import suppress

from penstock.children.frames import Channel
from penstock.children.messages import MessageReader, encode
from penstock.spark.sql.messages import REQUESTS, Compute, Computed, Failed, Open, Request
from penstock.sql.spark_query import SparkRows

channel = Channel.inherited(int(sys.argv[1]), REQUESTS)
reader: MessageReader[Open | Request] = MessageReader(Open | Request)
opened = reader.read(channel.receive()[0])
assert isinstance(opened, Open)
while True:
    try:
        request = reader.read(channel.receive(opened.settings.idle_seconds)[0])
    except TimeoutError:
        os._exit(0)
    assert isinstance(request, Compute)
    what = request.query.sql
    if what == "die":
        os._exit(3)
    if what == "hang":
        time.sleep(600)
    if what == "hostile":
        channel.send(pickle.dumps(ValueError))
        time.sleep(600)
    if what == "wait":
        channel.receive()
        what = "cancelled"
    answer: Computed | Failed = Computed(number=request.number, rows=SparkRows(lines=[str(os.getpid())]))
    if what in {"wrong", "cancelled", "ending"}:
        answer = Failed(number=request.number, code="DIVISION_BY_ZERO", message=what, ending=what == "ending")
    channel.send(encode(answer))
    if what == "ending":
        with suppress(TimeoutError):
            channel.receive(2)  # the next query might come while it ends
        os._exit(1)
