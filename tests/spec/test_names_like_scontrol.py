"""`expand` against the real `scontrol show hostnames`, for node lists that nobody wrote by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allranks.spec import expand, slurm_list

SCONTROL = shutil.which("scontrol")
pytestmark = pytest.mark.skipif(SCONTROL is None, reason="needs slurm-client: scripts/system.sh sbatch")
CONF = "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=ALL\n"


@st.composite
def brackets(draw: st.DrawFn) -> str:
    """`[3,07-12]`, with and without leading zeros; ranges are short."""
    items = []
    for _ in range(draw(st.integers(1, 3))):
        first, width = draw(st.integers(0, 120)), draw(st.integers(0, 4))
        last = first + draw(st.integers(0, 5))
        items.append(f"{first:0{width}}" if last == first else f"{first:0{width}}-{last:0{width}}")
    return "[" + ",".join(items) + "]"


LETTERS = st.from_regex(r"[a-z][a-z0-9-]{0,5}[a-z-]", fullmatch=True)
PARTS = st.builds(
    "".join, st.tuples(LETTERS, st.one_of(st.just(""), brackets(), st.integers(0, 99).map(str)))
)
TWO = st.builds("".join, st.tuples(LETTERS, brackets(), LETTERS, brackets()))
LISTS = st.lists(st.one_of(PARTS, TWO), min_size=1, max_size=4).map(",".join)


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    path.write_text(CONF)
    return path


def hostnames(conf: Path, text: str) -> list[str]:
    command = [str(SCONTROL), "show", "hostnames", text]
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=20, check=True
    ).stdout.split()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LISTS)
def test_expand_and_scontrol_agree_on_any_list(conf: Path, text: str) -> None:
    assert expand(text) == hostnames(conf, text)


NAMES = st.lists(
    st.one_of(
        st.from_regex(r"[a-z][a-z0-9-]{0,6}[a-z]", fullmatch=True),
        st.builds("{}{}".format, st.sampled_from(["n", "rack1-n", "a1b", "x00"]), st.integers(0, 130)),
        st.builds("{}{:03}".format, st.sampled_from(["n", "gpu-"]), st.integers(0, 1200)),
        st.builds("n{}b".format, st.integers(0, 9)),
        st.builds("s{}".format, st.integers(10**8, 10**18)),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
def test_slurm_reads_every_name_of_a_list_that_we_wrote(conf: Path, names: list[str]) -> None:
    assert sorted(hostnames(conf, slurm_list(names))) == sorted(set(names))


@given(NAMES)
def test_a_list_for_slurm_means_the_same_to_us(names: list[str]) -> None:
    assert sorted(expand(slurm_list(names))) == sorted(set(names))


def test_neighbours_become_ranges_and_slurm_meets_no_text_after_a_bracket() -> None:
    assert slurm_list([f"node{n}" for n in range(1, 4)] + ["a1b", "a2b", "n09", "n10"]) == (
        "node[1-3],a1b,a2b,n09,n10"
    )
