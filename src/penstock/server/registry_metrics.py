"""Metrics of the schema registry under the names that Confluent's have behind Prometheus' JMX exporter.

Source: "Monitor Schema Registry" of Confluent's documentation, the MBeans ``kafka.schema.registry``; dashboards for
Confluent's server read them as ``kafka_schema_registry_TYPE``. Those of Jetty, Jersey and the JVM have no counterpart here.
"""

from collections.abc import Mapping

__all__ = ["registry_metrics"]

_FORMATS = {"AVRO": "avro", "JSON": "json", "PROTOBUF": "protobuf"}


def registry_metrics(versions: Mapping[tuple[str, bool], int], *, succeeded: float, failed: float) -> bytes:
    """Return the lines for Prometheus.

    ``versions`` are counts by format and whether they are soft-deleted, ``succeeded`` and ``failed`` requests answered.
    """
    made = {each: sum(count for (known, _), count in versions.items() if known == each) for each in _FORMATS}
    gone = {each: versions.get((each, True), 0) for each in _FORMATS}
    values: dict[str, tuple[str, float]] = {
        "registered_count": ("Schema versions registered, soft-deleted ones included.", sum(made.values())),
        "deleted_count": ("Schema versions that are soft-deleted.", sum(gone.values())),
        "api_success_count": ("Requests of the registry's API that were answered.", succeeded),
        "api_failure_count": ("Requests of the registry's API that were refused or failed.", failed),
        "master_slave_role": ("1: each server takes writes.", 1),
    }
    for data_format, name in _FORMATS.items():
        values[f"{name}_schemas_created"] = (f"{data_format} versions registered.", made[data_format])
        values[f"{name}_schemas_deleted"] = (f"{data_format} versions that are soft-deleted.", gone[data_format])
    lines = []
    for name, (text, value) in values.items():
        full = f"kafka_schema_registry_{name}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} gauge", f"{full} {value:g}"]
    return ("\n".join(lines) + "\n").encode()
