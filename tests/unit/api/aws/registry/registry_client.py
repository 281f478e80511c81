"""Definitions and helpers of the registry's tests through boto3."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.api.observer import CompletedRequest

__all__ = ["ACCOUNT", "SCHEMA", "V1", "BytesBody", "Silent", "refused"]

ACCOUNT = "000000000000"


SCHEMA = {"RegistryName": "r", "SchemaName": "s"}


V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'


class Silent:
    def started(self) -> None:
        pass

    def finished(self, request: CompletedRequest) -> None:
        pass


class BytesBody(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.getvalue()


def refused(call: Callable[..., Any], code: str, text: str, **request: Any) -> None:
    with pytest.raises(ClientError) as error:
        call(**request)
    assert error.value.response["Error"]["Code"] == code
    assert text in error.value.response["Error"]["Message"]
