"""`stop` and `clean` on a node full of strangers: all of them survive, and everything of ours goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import until
from tests.harness.on_rig import RigDesk, machines
from tests.rig.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.training]
SCRIPT = Path(__file__).parent / "scripts" / "with_daemon.py"
PORT = 39511

PLANT = r"""
start() { setsid "$@" >/dev/null 2>&1 </dev/null & echo $!; }
start setpriv --reuid=65534 --clear-groups bash -c 'exec -a torchrun sleep 600'
start setpriv --reuid=65534 --clear-groups bash -c 'exec -a "python train.py" sleep 600'
start bash -c 'exec -a torchrun sleep 600'
start bash -c 'exec -a "python with_daemon.py" sleep 600'
start env ALLRANKS_RUN_ID="$1" sleep 600
start python3 -c 'import socket, time; s = socket.create_server(("", 39512)); time.sleep(600)'
"""
NAMES = ["torchrun", "python train.py", "torchrun", "python with_daemon.py", "sleep"]  # of the first five
TEMPORARY = ("torchelastic_stranger", "pymp-stranger", "allranks-0123456789ab")
SHARED_MEMORY = ("torch_4711_1_0", "nccl-AbCdEf", "sem.mp-strange", "allranks-of-somebody")


rig = machines(1)


def test_strangers_survive_stop_and_clean_and_nothing_of_ours_does(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    file = desk.light("/tmp/helper.pid", script=SCRIPT, name="among", network={"port": PORT})
    run_id = desk.run(file, "--detach", "--no-probe")["id"]
    ours = [int(pid) for pid in wait_for(rig, "/tmp/helper.pid").split()]
    assert len(ours) == 1 and alive(rig, ours) == ours

    assert "torch_of_ours_0" in listed_in(rig, "/dev/shm")

    planted = plant(rig, run_id)
    for name in SHARED_MEMORY:
        rig.run(1, ["sh", "-c", f"echo x > /dev/shm/{name}"])
    for name in TEMPORARY:
        rig.run(1, ["sh", "-c", f"mkdir /tmp/{name} && echo x > /tmp/{name}/theirs"])
    recycle(rig, run_id, planted[2])
    made = wait_for(rig, "/tmp/helper.folder").strip()
    own = Path(made).parent.name
    assert own.startswith("allranks-") and own in listed_in(rig, "/tmp")

    stopped = desk.json("stop", run_id)
    assert (stopped["state"], stopped["left"]) == ("stopped", 0)
    assert alive(rig, ours) == [] and alive(rig, planted) == planted
    left = listed_in(rig, "/dev/shm")
    assert "torch_of_ours_0" not in left and set(SHARED_MEMORY) <= left
    assert own not in listed_in(rig, "/tmp") and set(TEMPORARY) <= listed_in(rig, "/tmp")
    listed = desk("clean", run_id, "--files", "-n").stdout
    assert "left alone" in listed and str(planted[4]) in listed

    assert desk("clean", run_id, "--files", "-y").returncode == 0
    assert alive(rig, planted) == planted
    assert set(SHARED_MEMORY) <= listed_in(rig, "/dev/shm") and set(TEMPORARY) <= listed_in(rig, "/tmp")
    assert rig.run(1, ["ls", "/root/.allranks/runs"]).stdout == b""


def listed_in(rig: Rig, folder: str) -> set[str]:
    return set(rig.run(1, ["ls", folder]).stdout.decode().split())


def plant(rig: Rig, run_id: str) -> list[int]:
    said = rig.run(1, ["bash", "-c", PLANT, "plant", run_id], timeout=60).stdout
    pids = [int(pid) for pid in said.split()]
    words = [
        "sh",
        "-c",
        'for p; do head -z -n 1 /proc/$p/cmdline | tr "\\0" "\\n"; done',
        "read",
        *map(str, pids),
    ]
    until(
        lambda: rig.run(1, words).stdout.decode().splitlines()[:5] == NAMES, "what they shall become", 60, 0.1
    )
    return pids


def recycle(rig: Rig, run_id: str, pid: int) -> None:
    """The run's records name this pid, of another start: as after the kernel has given the number again."""
    path = f"/root/.allranks/runs/{run_id}/nodes/node1/processes.jsonl"
    first = json.loads(rig.run(1, ["head", "-n", "1", path]).stdout)
    line = json.dumps({**first, "pid": pid, "session": pid, "start_time": 1})
    rig.run(1, ["sh", "-c", f"cat >> {path}"], input=(line + "\n").encode())


def alive(rig: Rig, pids: list[int]) -> list[int]:
    """Those of them that live and are no zombies, by the node's own pids."""
    read = "for p in \"$@\"; do grep -qs '^State:.[^ZX]' /proc/$p/status && echo $p; done; true"
    return [int(one) for one in rig.run(1, ["bash", "-c", read, "read", *map(str, pids)]).stdout.split()]


def wait_for(rig: Rig, path: str) -> str:
    """What a file on the node says as soon as it says anything."""
    return until(lambda: rig.run(1, ["cat", path], check=False).stdout.decode().strip(), path, 60, 0.2)
