"""The stand-in over HTTP: AWS's JSON protocol, and event streams for SubscribeToShard.

Event streams: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html, the same framing for all
services: lengths, their CRC, headers, the payload, and a CRC of everything before it.
"""

import json
import struct
import time
import zlib
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock.testing.kinesis_server.model import KinesisError, Shard, behind
from penstock.testing.kinesis_server.operations import Operations

__all__ = ["serve"]

_BATCH = 10_000
_QUIET_SECONDS = 0.5  # between events without records


def serve(port: int) -> None:
    """Serve on ``port`` of this machine until the process ends."""
    _Server(("127.0.0.1", port), _Handler).serve_forever()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.operations = Operations()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Answer that the server is ready."""
        self._answer(200, {})

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        try:
            request = json.loads(body or b"{}")
            if name == "SubscribeToShard":
                self._stream(_events(self.server.operations, request))
            else:
                self._answer(200, self.server.operations.call(name, request))
        except KinesisError as error:
            status = 500 if error.code == "InternalFailure" else 400
            self._answer(status, {"__type": error.code, "message": str(error)})

    def _answer(self, status: int, members: dict[str, Any]) -> None:
        body = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes]) -> None:
        first = next(events)
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.amazon.eventstream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._chunk(first)
            for event in events:
                self._chunk(event)
            self._chunk(b"")
        except (KinesisError, OSError):
            # A test has ordered that the connection breaks, or the consumer is gone.
            self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_arguments: Any) -> None:
        """Write no log: tests read answers."""


def _events(service: Operations, request: dict[str, Any]) -> Iterator[bytes]:
    """Yield a subscription's messages: the answer, then events, until its time or the shard ends."""
    consumer = request["ConsumerARN"]
    with service.lock:
        service.begin("SubscribeToShard")
        stream = service.stream({"StreamARN": consumer.partition("/consumer/")[0]})
        if all(consumer != entry["ConsumerARN"] for entry in stream.consumers.values()):
            raise KinesisError("ResourceNotFoundException", f"Consumer {consumer} not found.")
        shard, key = stream.shard(request["ShardId"]), (consumer, request["ShardId"])
        generation, last = service.subscribed.get(key, (0, float("-inf")))
        if time.monotonic() < last + service.takeover_seconds:
            raise KinesisError("ResourceInUseException", "Another active subscription exists for this consumer")
        service.subscribed[key] = (generation + 1, time.monotonic())
        number = stream.position(shard, request["StartingPosition"])
        ends = time.monotonic() + service.subscription_seconds
    yield message("initial-response", {})
    while time.monotonic() < ends:
        with service.lock:
            if service.subscribed[key][0] != generation + 1:
                return
            service.lock.wait_for(partial(_has_news, shard, number), timeout=_QUIET_SECONDS)
            service.fail("SubscribeToShardEvent")
            records, number, tip = shard.after(number, _BATCH)
            shard.pushed += len(records)
            ended = tip and shard.ending is not None
            event: dict[str, Any] = {"Records": records, "MillisBehindLatest": behind(records, tip=tip)}
            if ended:
                event["ChildShards"] = stream.children(shard)
            else:
                number = number or stream.next_number()
                event["ContinuationSequenceNumber"] = str(number)
        yield message("SubscribeToShardEvent", event)
        if ended:
            return


def _has_news(shard: Shard, number: int) -> bool:
    return bool(shard.after(number, 1)[0]) or shard.ending is not None


def message(event: str, members: dict[str, Any]) -> bytes:
    """Return one message of an event stream."""
    headers = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in (
            (":message-type", "event"),
            (":event-type", event),
            (":content-type", "application/x-amz-json-1.1"),
        )
    )
    payload = json.dumps(members).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    text = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return text + struct.pack(">I", zlib.crc32(text))
