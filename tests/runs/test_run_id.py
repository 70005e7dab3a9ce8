"""Run ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from allranks.node.paths import RunDirectory
from allranks.runs.run_id import new_run_id


@given(st.text(max_size=200))
def test_any_name_gives_an_id_that_is_a_safe_folder_name(name: str) -> None:
    run_id = new_run_id(name)
    assert RunDirectory(run_id, "/nowhere").run_id == run_id


def test_ids_of_one_name_differ() -> None:
    assert len({new_run_id("a") for _ in range(50)}) > 45
