"""A checkpoint folder of anybody: it is judged, within bounded memory, and nothing outside of it is opened."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from pathlib import Path

from allranks import checkpoints
from allranks.checkpoints.folder import MAX_JSON_BYTES
from tests.attacks.seeded import Damage, attacked
from tests.checkpoints.conftest import Checkpoint

MOST_BYTES = MAX_JSON_BYTES + (16 << 20)
"""The folder has some KiB; whatever its headers claim, no more than the longest JSON gets memory."""


@attacked(quick=40, long=400)
def test_a_damaged_folder_is_judged(tmp_path: Path, seed: int, rounds: int) -> None:
    damage, whole = Damage(seed), Checkpoint(tmp_path / "whole" / "checkpoint-20").write()
    assert checkpoints.verify(str(whole.path)).whole
    files = sorted(path.name for path in whole.path.iterdir() if path.is_file())
    tracemalloc.start()
    try:
        for number in range(rounds):
            folder = tmp_path / "damaged" / "checkpoint-20"
            shutil.copytree(whole.path, folder)
            for name in damage.random.sample(files, damage.random.randint(1, 2)):
                hit(damage, folder / name)
            found = checkpoints.verify(str(folder))
            assert all(isinstance(one.id, str) and one.saw for one in found.findings), (
                f"seed {seed}, round {number}"
            )
            shutil.rmtree(folder.parent)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def hit(damage: Damage, path: Path) -> None:
    """Bytes of the file, the values of its JSON, the header of its tensors, or what kind of file it is."""
    what, data = damage.random.randrange(4), path.read_bytes()
    if what == 0:
        path.write_bytes(damage.bytes(data))
    elif what == 1 and path.suffix == ".json":
        path.write_text(json.dumps(damage.json(json.loads(data))), errors="surrogatepass")
    elif what == 2 and path.suffix == ".safetensors":
        size = int.from_bytes(data[:8], "little")
        header = json.dumps(damage.json(json.loads(data[8 : 8 + size]), 6)).encode("utf-8", "surrogatepass")
        path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
    else:
        path.unlink()
        path.symlink_to(damage.random.choice(("/etc/passwd", "/dev/zero", ".", "absent", path.name)))
