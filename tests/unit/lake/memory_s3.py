"""The requests of :mod:`penstock.lake.object_files` on a store in memory.

``before`` and ``after`` are called around each change.
"""

import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError


class MemoryS3:
    """The part of boto3's client that is used. ``objects`` maps ``s3://BUCKET/key`` to bytes."""

    def __init__(
        self, before: Callable[[str], None] = lambda _: None, after: Callable[[str], None] = lambda _: None
    ) -> None:
        self.objects: dict[str, bytes] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self.uploads: dict[str, tuple[str, dict[str, str], dict[int, bytes]]] = {}
        self._ids = itertools.count()
        self._before, self._after = before, after

    def get_object(self, *, Bucket: str, Key: str, Range: str = "") -> Any:  # noqa: N803 - boto3's names
        data = self._object(Bucket, Key)
        return {"Body": io.BytesIO(data[-int(Range.removeprefix("bytes=-")) :] if Range else data)}

    def head_object(self, *, Bucket: str, Key: str) -> Any:  # noqa: N803
        self._object(Bucket, Key)
        return {"Metadata": self.metadata.get(f"s3://{Bucket}/{Key}", {})}

    def _object(self, bucket: str, key: str) -> bytes:
        if f"s3://{bucket}/{key}" not in self.objects:
            raise _missing("NoSuchKey")
        return self.objects[f"s3://{bucket}/{key}"]

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> None:  # noqa: N803
        self._before("put")
        self.objects[f"s3://{Bucket}/{Key}"] = Body
        self._after("put")

    def copy_object(self, *, Bucket: str, Key: str, CopySource: dict[str, str]) -> None:  # noqa: N803
        self._before("copy")
        self.objects[f"s3://{Bucket}/{Key}"] = self._object(CopySource["Bucket"], CopySource["Key"])
        self._after("copy")

    def delete_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803
        self._before("delete")
        self.objects.pop(f"s3://{Bucket}/{Key}", None)
        self._after("delete")

    def delete_objects(self, *, Bucket: str, Delete: Any) -> Any:  # noqa: N803
        for item in Delete["Objects"]:
            self.delete_object(Bucket=Bucket, Key=item["Key"])
        return {}

    def create_multipart_upload(self, *, Bucket: str, Key: str, Metadata: dict[str, str]) -> Any:  # noqa: N803
        self._before("begin")
        number = str(next(self._ids))
        self.uploads[number] = (f"s3://{Bucket}/{Key}", Metadata, {})
        self._after("begin")
        return {"UploadId": number}

    def upload_part(self, *, Bucket: str, Key: str, UploadId: str, PartNumber: int, Body: bytes) -> Any:  # noqa: N803
        self._before("part")
        self._upload(Bucket, Key, UploadId)[2][PartNumber] = Body
        self._after("part")
        return {"ETag": f'"{hash(Body)}"'}

    def list_parts(self, *, Bucket: str, Key: str, UploadId: str, MaxParts: int) -> Any:  # noqa: N803
        return {"Parts": [{"PartNumber": number} for number in self._upload(Bucket, Key, UploadId)[2]]}

    def complete_multipart_upload(self, *, Bucket: str, Key: str, UploadId: str, MultipartUpload: Any) -> None:  # noqa: N803
        self._before("complete")
        path, metadata, parts = self._upload(Bucket, Key, UploadId)
        assert [part["ETag"] for part in MultipartUpload["Parts"]] == [f'"{hash(parts[n])}"' for n in sorted(parts)]
        self.objects[path], self.metadata[path] = b"".join(parts[number] for number in sorted(parts)), metadata
        del self.uploads[UploadId]
        self._after("complete")

    def abort_multipart_upload(self, *, Bucket: str, Key: str, UploadId: str) -> None:  # noqa: N803
        self._before("abort")
        self._upload(Bucket, Key, UploadId)
        del self.uploads[UploadId]
        self._after("abort")

    def _upload(self, bucket: str, key: str, number: str) -> tuple[str, dict[str, str], dict[int, bytes]]:
        if number not in self.uploads or self.uploads[number][0] != f"s3://{bucket}/{key}":
            raise _missing("NoSuchUpload")
        return self.uploads[number]

    def get_paginator(self, operation: str) -> "_Pages":
        return _Pages({"list_objects_v2": self._listed, "list_multipart_uploads": self._begun}[operation])

    def _listed(self, *, Bucket: str, Prefix: str, Delimiter: str = "") -> Iterator[Any]:  # noqa: N803
        root = f"s3://{Bucket}/"
        keys = sorted(path.removeprefix(root) for path in self.objects if path.startswith(root + Prefix))
        below = {key: key[len(Prefix) :] for key in keys}
        if Delimiter:
            folders = {Prefix + rest.partition("/")[0] + "/" for rest in below.values() if "/" in rest}
            yield {"CommonPrefixes": [{"Prefix": name} for name in sorted(folders)]}
            keys = [key for key, rest in below.items() if "/" not in rest]
        for key in keys:  # a page for each, as a client must take them
            yield {"Contents": [{"Key": key, "Size": len(self.objects[root + key])}]}

    def _begun(self, *, Bucket: str, Prefix: str) -> Iterator[Any]:  # noqa: N803
        root = f"s3://{Bucket}/"
        for number, (path, _, _) in sorted(self.uploads.items()):
            if path.startswith(root + Prefix):
                yield {"Uploads": [{"UploadId": number, "Key": path.removeprefix(root)}]}


class _Pages:
    def __init__(self, pages: Callable[..., Iterator[Any]]) -> None:
        self.paginate = pages


def _missing(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "operation")
