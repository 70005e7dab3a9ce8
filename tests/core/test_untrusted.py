"""What the getters of untrusted JSON give, for any value."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core import untrusted

GETTERS = {
    "number": (untrusted.number, (int, float, type(None))),
    "integer": (untrusted.integer, (int, type(None))),
    "text": (untrusted.text, (str, type(None))),
    "mapping": (untrusted.mapping, (dict,)),
    "listing": (untrusted.listing, (list,)),
    "mappings": (untrusted.mappings, (list,)),
}
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400) | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@pytest.mark.parametrize("name", GETTERS)
@given(VALUES)
def test_any_value_gives_the_type_or_nothing(name: str, value: Any) -> None:
    getter, kinds = GETTERS[name]
    found = getter(value)
    assert isinstance(found, kinds) and not isinstance(found, bool)
    json.dumps(found, default=repr, allow_nan=name in ("mapping", "listing", "mappings"))


@given(st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_kept_as_it_is(value: float) -> None:
    found = untrusted.number(value)
    assert found == value and type(found) is type(value)
    assert untrusted.integer(value) == (value if value == int(value) else None)


@pytest.mark.parametrize("value", [True, False, "1", None, math.nan, math.inf, -math.inf, 10**400, [1], {}])
def test_what_is_not_a_number(value: Any) -> None:
    assert untrusted.number(value) is None and untrusted.integer(value) is None


@given(st.lists(VALUES))
def test_the_mappings_of_a_list_are_kept_in_their_order(values: list[Any]) -> None:
    assert untrusted.mappings(values) == [value for value in values if isinstance(value, dict)]
    assert untrusted.listing(tuple(values)) == values
    assert all(untrusted.mapping(value) == value for value in untrusted.mappings(values))
