# SPDX-License-Identifier: Apache-2.0
"""A pytest fixture that judges attention kernels.

In a test module or in conftest.py (a package installed by pip registers it by itself):

    pytest_plugins = "splitwave.pytest_plugin"

    def test_my_kernel(assert_attention_close):
        assert_attention_close(q, k, v, my_kernel(q, k, v), causal=True)
"""
from __future__ import annotations

from typing import Any, Callable

import pytest

from ._verify import Verification, verify


def _assert_attention_close(*arguments: Any, **options: Any) -> Verification:
    __tracebackhide__ = True  # the test's own line is what its author wants to see
    verdict = verify(*arguments, **options)
    if not verdict.passed:
        pytest.fail(str(verdict))
    return verdict


@pytest.fixture
def assert_attention_close() -> Callable[..., Verification]:
    """splitwave.verify() that fails the test with the verdict's reasons, and returns the verdict of one that passes."""
    return _assert_attention_close
