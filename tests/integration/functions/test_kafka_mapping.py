"""Kafka mappings on a real broker: every record reaches the function or the destination, whatever dies on the way."""

import json
import signal
from typing import Any

import psutil
from confluent_kafka import Producer

from penstock.local.broker import Broker
from penstock.testing.polling import eventually
from tests.integration.functions.runs import FunctionRun, committed, fill, make_topic, read_topic


def _source(access: dict[str, Any], topic: str, group: str, **more: Any) -> dict[str, Any]:
    config = {"SelfManagedKafkaEventSourceConfig": {"ConsumerGroupId": group}}
    return {**access, "Topics": [topic], **config, **more}


def test_what_a_topic_holds_is_delivered_once_and_committed(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-all", 3)
    values = [f"value {number}" for number in range(500)]
    fill(broker, "fn-all", values)
    function.source(**_source(access, "fn-all", "fn-all", BatchSize=50))
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert sorted(function.done()) == sorted(values)
    for partition in range(3):
        offsets = [line["o"] for line in function.lines() if line["p"] == f"fn-all-{partition}"]
        assert offsets == list(range(len(offsets)))
    assert sum(committed(broker, "fn-all", "fn-all", 3)) == 500
    assert all(line["count"] <= 50 for line in function.lines("begun"))
    counts = function.counts()
    assert counts["PolledEventCount"] == counts["DeliveredEventCount"] == 500
    assert "500 read, 500 delivered, 0 filtered out, 0 discarded" in function.log.read_text()


def test_ends_of_transactions_are_no_lag_and_aborted_records_are_not_delivered(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-transactions")
    producer = Producer({**broker.client_settings, "transactional.id": "fn-transactions"})
    producer.init_transactions(30)
    for value, keep in (("a", True), ("b", False), ("c", True), ("d", False)):
        producer.begin_transaction()
        producer.produce("fn-transactions", value)
        assert producer.flush(30) == 0
        (producer.commit_transaction if keep else producer.abort_transaction)(30)
    function.source(**_source(access, "fn-transactions", "fn-transactions"))
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert function.done() == ["a", "c"]
    assert committed(broker, "fn-transactions", "fn-transactions", 1) == [8]


def test_a_killed_handler_loses_nothing(broker: Broker, access: dict[str, Any], function: FunctionRun) -> None:
    make_topic(broker, "fn-handler", 2)
    values = [f"{number}" for number in range(60)]
    fill(broker, "fn-handler", values)
    function.source(**_source(access, "fn-handler", "fn-handler", BatchSize=10))
    function.start("--once", KILLER="37")
    assert function.wait() == 0, function.log.read_text()
    assert sorted(function.done()) == sorted(values)
    assert len({line["pid"] for line in function.lines("begun")}) >= 2
    assert "Runtime.ExitError" in function.log.read_text()
    assert function.counts()["Errors"] == 1


def test_a_killed_poller_loses_nothing_and_takes_its_handler_along(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-poller", 2)
    values = [f"{number}" for number in range(80)]
    fill(broker, "fn-poller", values)
    function.source(**_source(access, "fn-poller", "fn-poller", BatchSize=10))
    (function.out / "hold").touch()
    function.start()
    eventually(lambda: bool(function.lines("begun")), "the first batch is in hand")
    handler = psutil.Process(function.lines("begun")[0]["pid"])
    assert function.stop(signal.SIGKILL) == -signal.SIGKILL
    eventually(lambda: not handler.is_running() or handler.status() == psutil.STATUS_ZOMBIE, "the handler has ended")
    assert function.done() == []
    (function.out / "hold").unlink()
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert sorted(function.done()) == sorted(values)


def test_a_stop_finishes_the_batch_in_hand(broker: Broker, access: dict[str, Any], function: FunctionRun) -> None:
    make_topic(broker, "fn-stop")
    fill(broker, "fn-stop", [f"{number}" for number in range(40)])
    function.source(**_source(access, "fn-stop", "fn-stop", BatchSize=10))
    (function.out / "hold").touch()
    function.start()
    eventually(lambda: bool(function.lines("begun")), "the first batch is in hand")
    function.process.send_signal(signal.SIGTERM)
    eventually(lambda: "stopping after" in function.log.read_text(), "the stop is heard")
    (function.out / "hold").unlink()
    assert function.wait() == 0
    assert function.done() == [f"{number}" for number in range(10)]
    assert committed(broker, "fn-stop", "fn-stop", 1) == [10]
    counts = function.counts()
    assert counts["DeliveredEventCount"] == 10
    assert counts["PolledEventCount"] == 10 + counts["ReleasedEventCount"]


def test_poison_is_bisected_to_the_destination(broker: Broker, access: dict[str, Any], function: FunctionRun) -> None:
    make_topic(broker, "fn-poison")
    make_topic(broker, "fn-poison-failed")
    values = [f"poison {number}" if number in {13, 14, 31} else f"{number}" for number in range(40)]
    fill(broker, "fn-poison", values)
    function.source(
        **_source(access, "fn-poison", "fn-poison", BatchSize=40),
        BisectBatchOnFunctionError=True,
        MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": "kafka://fn-poison-failed"}},
    )
    function.start("--once", POISON="poison")
    assert function.wait() == 0, function.log.read_text()
    assert function.done() == [value for value in values if "poison" not in value]
    failed = read_topic(broker, "fn-poison-failed", 3)
    assert [message.key().decode() for message in failed] == ["poison 13", "poison 14", "poison 31"]
    record = json.loads(failed[0].value())
    assert record["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert record["KafkaBatchInfo"]["recordInfo"]["offset"] == "13"
    assert record["payload"]["records"]["fn-poison-0"][0]["offset"] == 13
    assert record["responsePayload"] == {"errorType": "ValueError", "errorMessage": "poison in poison 13"}
    counts = function.counts()
    assert counts["DeliveredEventCount"] == 37
    assert counts["DroppedEventCount"] == counts["OnFailureDestinationDeliveredEventCount"] == 3
