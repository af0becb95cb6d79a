"""Damaged and crafted files give errors of nke or what was saved: no other error, no crash, no hang, no other model."""

import pytest

from tests.fuzz.__main__ import supervise, table


def test_some_cases():
    counts, failures = supervise(100, first=10**6)
    assert failures == [], table(counts)
    assert counts.total() == 100


@pytest.mark.validation
def test_100000_cases():
    counts, failures = supervise(100_000)
    print(table(counts))
    assert failures == [], table(counts)
