import pytest

pytest.register_assert_rewrite("tests.conformance.parsers", "tests.conformance.taggers")
