"""`resume: node:/path`: the checkpoint of another machine, in the run's folder on each node that reads it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.checkpoints import delivery, node_verbs, verify
from allranks.core import BadInput, Blocked, Facts, Node
from allranks.node import saved_models
from allranks.node.paths import RunDirectory
from allranks.runs import checkpoint_delivery
from allranks.runs.checkpoint_delivery import delivered
from allranks.spec import load
from allranks.transport import Nodes, ProgramFailed
from tests.checkpoints.conftest import Checkpoint

RUN = "x-0101-aaaa"


class Machine:
    """A node that answers from this process; `asked` counts the pieces' requests."""

    def __init__(self, name: str):
        self.node, self.asked = name, 0

    async def call(
        self, verb: str, what: str, stdin: dict[str, Any], timeout_seconds: float
    ) -> dict[str, Any]:
        self.asked += "pieces" in stdin
        try:
            return node_verbs.document(what, stdin)
        except BadInput as error:
            problems = {"problems": [one.as_json() for one in error.problems]}
            raise ProgramFailed(self.node, verb, str(error), problems) from error

    async def lines(self, verb: str, what: str, stdin: dict[str, Any]):
        for line in node_verbs.pieces(stdin, lambda: False):
            yield line


@pytest.fixture
def there(tmp_path: Path, home: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "far" / "checkpoint-20").write()


def bring(tmp_path: Path, resume: object, words: str = "", homes: str = "hh", accept: str = "") -> Any:
    """The run after a delivery from the machine `far`, and its nodes n1 and n2."""
    file = tmp_path / "run.yaml"
    file.write_text(
        f"nodes: [n1, n2]\nresume: '{resume}'\ntrain: {{command: [/train.py{words}]}}\naccept: [{accept}]\n"
    )
    nodes = [Node(name, name, rank) for rank, name in enumerate(("n1", "n2"))]
    machines = {node.name: Machine(node.name) for node in nodes}
    here = Nodes(machines, {node.name: node for node in nodes})  # type: ignore[arg-type]
    facts = [
        Facts(node.name, 0.0, {"system": {"allranks_home": home}})
        for node, home in zip(nodes, homes, strict=True)
    ]
    steps: list[str] = []
    done = delivered(load(str(file)), here, RUN, facts, lambda node, what: steps.append(what))
    return SimpleNamespace(resume=asyncio.run(done).resume, machines=machines, steps=steps)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that `far:` names; its connection is closed at the end."""

    def opened(host: str, access: object) -> Nodes:
        assert host == "far"
        return Nodes({"far": Machine("far")}, {"far": Node("far", "far", 0)})  # type: ignore[dict-item]

    monkeypatch.setattr(checkpoint_delivery, "open_targets", opened)
    monkeypatch.setattr(Nodes, "close", lambda self: asyncio.sleep(0))


def test_the_head_gets_a_copy_with_the_same_digests(there: Checkpoint, far: None, tmp_path: Path) -> None:
    found = bring(tmp_path, f"far:{there.path}")
    copy = Path(RunDirectory(RUN).root, "resume-copy", "checkpoint-20")
    assert found.resume == str(copy) and verify(str(copy)).whole
    assert {p.name: p.read_bytes() for p in copy.iterdir()} == {
        p.name: p.read_bytes() for p in there.path.iterdir()
    }
    assert found.machines["n1"].asked == 1 and found.machines["n2"].asked == 0
    assert saved_models.find(RunDirectory(RUN))[0] == [], "a copy of ours is no model that clean must keep"


def test_of_an_output_folder_the_newest_whole_one(there: Checkpoint, far: None, tmp_path: Path) -> None:
    cut = Checkpoint(tmp_path / "far" / "checkpoint-30", step=30).write()
    cut.weights.write_bytes(cut.weights.read_bytes()[:-50])
    assert bring(tmp_path, f"far:{there.path.parent}").resume.endswith("/resume-copy/checkpoint-20")
    with pytest.raises(Blocked, match="checkpoint-altered"):
        bring(tmp_path, f"far:{cut.path}")


def test_a_script_s_ranks_read_it_on_every_node(there: Checkpoint, far: None, tmp_path: Path) -> None:
    """Both nodes have one home here, as on shared storage: the second finds the copy."""
    words = ", --resume, '{resume}'"
    found = bring(tmp_path, f"far:{there.path}", words)
    assert found.machines["n1"].asked == 1 and found.machines["n2"].asked == 0
    with pytest.raises(BadInput, match="not the same on the nodes"):
        bring(tmp_path, f"far:{there.path}", words, homes="hi")


def test_a_file_of_torch_save_is_one_too(far: None, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "far" / "last one.pt"
    file.parent.mkdir()
    file.write_bytes(bytes(range(256)) * 8192)
    copy = Path(bring(tmp_path, f"far:{file}", accept="").resume)
    assert copy.name == "last_one.pt" and copy.read_bytes() == file.read_bytes()


def test_a_path_of_the_head_itself_is_not_copied(there: Checkpoint, tmp_path: Path) -> None:
    found = bring(tmp_path, f"n1:{there.path}")
    assert found.resume == str(there.path) and not Path(RunDirectory(RUN).root).exists()
    assert bring(tmp_path, f"n2:{there.path}").resume.endswith("/resume-copy/checkpoint-20")


def test_other_paths_stay(tmp_path: Path, home: Path) -> None:
    for text in ("auto", "/on/the/head", "a:relative"):
        assert bring(tmp_path, text).resume == text


@pytest.mark.parametrize("path", ["/no/such", "~/no-such-folder"])
def test_nothing_there_is_bad_input(far: None, home: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises(BadInput, match="far: "):
        bring(tmp_path, f"far:{path}")


# ---- what a node refuses to receive ----


def test_a_delivery_stays_below_its_folder_and_in_order(home: Path) -> None:
    request = {"run": RUN, "name": "c", "files": [{"name": "a", "bytes": 3, "sha256": "0" * 64}]}
    for name in ("../a", "/a", "a/../b", ""):
        with pytest.raises(BadInput):
            delivery.received({**request, "files": [{"name": name, "bytes": 1, "sha256": "0" * 64}]})
    with pytest.raises(BadInput):
        delivery.received({**request, "name": "../c"})
    delivery.received(request)
    for piece in ({"offset": 1, "data": "QUJD"}, {"offset": 0, "data": "%%"}):
        with pytest.raises(BadInput):
            delivery.received({**request, "pieces": [{"name": "a", **piece}]})
    with pytest.raises(OSError):
        delivery.received({**request, "pieces": [{"name": "b", "offset": 0, "data": "QUJD"}]})
    delivery.received({**request, "pieces": [{"name": "a", "offset": 0, "data": "QUJD"}]})
    with pytest.raises(BadInput, match="differs"):
        delivery.received({**request, "whole": True})
    assert not (Path(RunDirectory(RUN).root) / "resume-copy" / "c").exists()
