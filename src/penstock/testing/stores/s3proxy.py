"""S3Proxy over a folder: one JVM of 130 MB, ready in two seconds."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.durable import writing
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.local.processes.child import Service
from penstock.local.processes.ports import free_ports
from penstock.local.processes.probes import answers_http
from penstock.testing.standin import running_service
from penstock.testing.stores.port import S3Store, new_key

__all__ = ["running_s3proxy"]


@contextlib.contextmanager
def running_s3proxy() -> Iterator[S3Store]:
    """Run S3Proxy with an empty bucket during the block.

    Raises :class:`EnvironmentProblem` if there is no Java, or the fetch or the start fails.
    """
    (jar,) = class_path("s3proxy")
    java = find_java(os.environ)
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="penstock-s3proxy-") as folder:
        data, properties = Path(folder) / "data", Path(folder) / "s3proxy.properties"
        data.mkdir()
        store = S3Store(
            name="s3proxy",
            version=jar.parent.name,
            endpoint_url=f"http://127.0.0.1:{port}",
            **new_key(),
        )
        settings = {
            "s3proxy.endpoint": store.endpoint_url,
            "s3proxy.authorization": "aws-v4",
            "s3proxy.identity": store.access_key_id,
            "s3proxy.credential": store.secret_access_key,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.identity": "none",
            "jclouds.credential": "none",
            "jclouds.filesystem.basedir": str(data),
        }
        with writing(properties) as file:
            file.write("".join(f"{name}={value}\n" for name, value in settings.items()).encode())
        command = [str(java.executable), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-jar", str(jar), "--properties", str(properties)]
        service = Service(
            name="s3proxy",
            title="S3Proxy",
            command=lambda: command,
            is_ready=lambda: answers_http("127.0.0.1", port, "/", 2),
        )
        with running_service(service):
            store.client().create_bucket(Bucket=store.bucket)
            yield store
