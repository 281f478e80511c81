"""Requests beyond the bound of an access key."""

from typing import Any

import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from penstock.api.errors import Throttled
from penstock.api.limits import Throttle


def test_requests_over_the_bound_are_answered_as_aws_does() -> None:
    time = [0.0]
    throttle = Throttle(2.0, clock=lambda: time[0])
    throttle.take("a")
    throttle.take("a")
    throttle.take("b")
    with pytest.raises(Throttled) as refusal:
        throttle.take("a")
    retried: Any = ThrottledRetryableChecker
    assert refusal.value.aws_code in retried._THROTTLED_ERROR_CODES
    assert refusal.value.http_status == 400
    time[0] = 0.5
    throttle.take("a")
    with pytest.raises(Throttled):
        throttle.take("a")
