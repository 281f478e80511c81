"""What becomes of a service's refusal: our error, in one line of words."""

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.client.connection import translated_errors
from penstock.errors import AccessDenied


def test_a_signature_that_does_not_fit_is_said_in_a_line() -> None:
    client = boto3.session.Session().client("glue", region_name="us-east-1")
    message = "The signature does not match. Check your key.\n\nThe Canonical String should have been\n'POST\n/\n'"
    answer = {"Error": {"Code": "SignatureDoesNotMatch", "Message": message}}
    with pytest.raises(AccessDenied) as caught, translated_errors(client, "schema s"):
        raise ClientError(answer, "GetSchema")  # type: ignore[arg-type]
    assert str(caught.value).startswith("The signature does not match. Check your key. (asked for schema s at https://glue.")
    assert "\n" not in str(caught.value)
