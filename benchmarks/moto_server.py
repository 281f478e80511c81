"""moto's server, started with schemas in its memory. Arguments: port, number of schemas."""

import sys
from typing import Any

from benchmarks.definitions import definition


def main() -> None:
    """Fill moto's Glue backend in this process, then serve it."""
    from moto.glue import glue_schema_registry_utils  # noqa: PLC0415
    from moto.glue.models import glue_backends  # noqa: PLC0415
    from moto.server import main as serve  # noqa: PLC0415

    port, schemas = sys.argv[1:]
    # moto refuses the 1,001st schema and the 1,001st version.
    limits: Any = glue_schema_registry_utils
    limits.MAX_SCHEMAS_ALLOWED = limits.MAX_SCHEMA_VERSIONS_ALLOWED = sys.maxsize
    backend = glue_backends["123456789012"]["us-east-1"]
    backend.create_registry("bench")
    for number in range(int(schemas)):
        backend.create_schema(
            {"RegistryName": "bench"},
            f"schema-{number}",
            "AVRO",
            "BACKWARD",
            definition(number),
            description=None,
            tags=None,
        )
    serve(["-p", port, "-H", "127.0.0.1"])


if __name__ == "__main__":
    main()
