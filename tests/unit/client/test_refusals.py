"""A service's refusal becomes Penstock's error, in one line."""

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.client.connection import translated_errors
from penstock.errors import AccessDenied


def test_a_wrong_signature_is_reported_in_a_line() -> None:
    client = boto3.session.Session().client("glue", region_name="us-east-1")
    message = "The signature does not match. Check your key.\n\nThe Canonical String should have been\n'POST\n/\n'"
    answer = {"Error": {"Code": "SignatureDoesNotMatch", "Message": message}}
    with pytest.raises(AccessDenied) as caught, translated_errors(client, "schema s"):
        raise ClientError(answer, "GetSchema")  # type: ignore[arg-type]
    assert str(caught.value).startswith("The signature does not match. Check your key. (asked for schema s at https://glue.")
    assert "\n" not in str(caught.value)
