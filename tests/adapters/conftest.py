"""What the tests of all adapters share."""

import pytest

pytest.register_assert_rewrite("tests.conformance.parsers", "tests.conformance.taggers")
