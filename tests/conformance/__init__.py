"""Endpoints that deviate, each deviation a scenario: raw bytes in, and rows, requests and pages out."""

import pytest

pytest.register_assert_rewrite("tests.conformance.expectation", "tests.conformance.validity")
