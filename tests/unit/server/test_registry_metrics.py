"""The registry's metrics under Confluent's names, by a parser that Prometheus' own client has."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from penstock.api.observer import CompletedRequest
from penstock.server.observe import Metrics, registry_metrics
from penstock.store.sql.registry.store import count_versions
from penstock.store.sql.registry.tables import schema_versions
from tests.unit.api.aws.every_operation import start


def _values(text: bytes) -> dict[str, float]:
    return {
        sample.name: sample.value for family in text_string_to_metric_families(text.decode()) for sample in family.samples
    }


def test_versions_are_counted_by_format(tmp_path: Path) -> None:
    world = start(tmp_path)
    database = world.services.database
    assert count_versions(database) == {}
    for name, data_format, text in (("order", "AVRO", '"string"'), ("event", "JSON", "{}")):
        world.call(
            "glue", "CreateSchema", SchemaName=name, DataFormat=data_format, Compatibility="NONE", SchemaDefinition=text
        )
    world.call(
        "glue",
        "RegisterSchemaVersion",
        SchemaId={"RegistryName": "default-registry", "SchemaName": "order"},
        SchemaDefinition='"bytes"',
    )
    with database.write() as writer:
        writer.execute(update(schema_versions).where(schema_versions.c.definition == '"bytes"').values(deleted=1))
    counted = count_versions(database)
    world.services.close()
    assert counted == {("AVRO", False): 1, ("AVRO", True): 1, ("JSON", False): 1}
    results = _values(registry_metrics(counted, succeeded=7, failed=2))
    assert results["kafka_schema_registry_registered_count"] == 3
    assert results["kafka_schema_registry_deleted_count"] == 1
    assert results["kafka_schema_registry_avro_schemas_created"] == 2
    assert results["kafka_schema_registry_avro_schemas_deleted"] == 1
    assert results["kafka_schema_registry_protobuf_schemas_created"] == 0
    assert results["kafka_schema_registry_api_success_count"] == 7
    assert results["kafka_schema_registry_api_failure_count"] == 2
    assert results["kafka_schema_registry_master_slave_role"] == 1


def test_requests_of_the_registrys_api_are_counted() -> None:
    metrics = Metrics(None)
    for service, code, status in (("confluent", "OK", 200), ("confluent", "40401", 404), ("glue", "OK", 200)):
        metrics.started()
        metrics.finished(CompletedRequest(service, "list", code, status, 0.01, "-", "1", "-"))
    assert metrics.answered("confluent") == (1, 1)
