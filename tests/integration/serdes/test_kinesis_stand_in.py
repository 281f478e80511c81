"""The Kinesis stand-in: what tests of serdes and functions take for granted of it."""

from penstock.testing.kinesis import KinesisStandIn


def test_records_of_every_shard_come_back_in_order(kinesis: KinesisStandIn) -> None:
    assert kinesis.create_stream("stand-in", shards=2) == ["shardId-000000000000", "shardId-000000000001"]
    entries = [{"Data": bytes([number]), "PartitionKey": str(number % 5)} for number in range(20)]
    answer = kinesis.client().put_records(StreamName="stand-in", Records=entries)
    assert answer["FailedRecordCount"] == 0
    records = kinesis.records("stand-in")
    assert sorted(record["Data"] for record in records) == [entry["Data"] for entry in entries]
    by_key = [record["Data"][0] for record in records if record["PartitionKey"] == "3"]
    assert by_key == [3, 8, 13, 18]
