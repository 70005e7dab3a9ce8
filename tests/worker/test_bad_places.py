"""Folders that are full, missing, forbidden or absurd: the script runs to its end all the same."""

from __future__ import annotations

import os
import subprocess

import pytest

pytestmark = pytest.mark.lengthy

SCRIPT = "import time\nfor n in range(4): print('line', n)\ntime.sleep(0.12)\n"


NOWHERE = ["/proc/nowhere", "/dev/null/x", "", "x" * 5000, "/proc/1/mem", "\udcff/x"]


@pytest.mark.parametrize("name", ["ALLRANKS_RANKS_DIR", "ALLRANKS_LOGS_DIR", "ALLRANKS_STACKS_DIR"])
def test_folders_that_are_none(node, name):
    running = [node.start(SCRIPT, rank, **{name: value}) for rank, value in enumerate(NOWHERE)]
    for rank, process in enumerate(running):
        told = node.finish(process, rank)
        assert told.code == 0, NOWHERE[rank]
        assert (told.log or told.outside).count("line") == 4


HOSTILE = [
    {"ALLRANKS_BEAT_SECONDS": "nan"},
    {"ALLRANKS_BEAT_SECONDS": "-1e999"},
    {"ALLRANKS_BEAT_SECONDS": "0"},
    {"ALLRANKS_NODE": "\x1b[2J{}\"'\n" * 100},
    {"WORLD_SIZE": "-3"},
    {"ALLRANKS_RANK_PROCESS": ""},
]


def test_values_that_are_none(node):
    running = [node.start(SCRIPT, rank, **hostile) for rank, hostile in enumerate(HOSTILE)]
    for rank, process in enumerate(running):
        told = node.finish(process, rank)
        assert told.code == 0 and told.log.count("line") == 4, HOSTILE[rank]
        assert told.kinds == ["start", "end"] and len(told.all("beat")) < 100


def test_a_rank_that_is_no_number_is_no_rank(node):
    names = ["-1", "../../x", "1e3", "99999999999", "²", " 1"]
    running = [node.start("print('line')", number, RANK=name) for number, name in enumerate(names)]
    for number, process in enumerate(running):
        assert (node.finish(process, number).outside, list(node.ranks.iterdir())) == ("line\n", []), names[
            number
        ]


def test_a_folder_that_comes_late_gets_everything_that_matters(node):
    script = (
        f"import os, time\ntime.sleep(1.0); os.mkdir({str(node.root / 'late')!r}); time.sleep(0.15)\n"
        f"raise ValueError('x')"
    )
    told = node.run(script, ALLRANKS_RANKS_DIR=str(node.root / "late"))
    node.ranks = node.root / "late"
    told.events = node.events()
    assert told.kinds == ["start", "exception", "end"]


def test_a_file_that_is_moved_away_is_begun_anew(node):
    path = str(node.ranks / "rank-0.jsonl")
    told = node.run(f"{node.beats}beats(1)\nimport os; os.unlink({path!r}); beats(2)")
    assert told.kinds == ["end"] and len(told.all("beat")) >= 2


def test_a_script_that_closes_all_descriptors(node):
    """As daemons do; ours may then be anybody's, and nothing of ours may end up in the script's file."""
    script = (
        f"{node.beats}beats(1, 'start')\nimport os, time; os.closerange(3, 64)\n"
        "files = [open('mine%d' % n, 'w') for n in range(20)]\ntime.sleep(0.15)\n"
        "[f.close() for f in files]\nassert all(os.path.getsize('mine%d' % n) == 0 for n in range(20))\n"
    )
    told = node.run(script)
    assert told.code == 0, told.log
    assert told.kinds == ["start", "end"]


def test_a_symlink_in_our_place_is_not_followed(node):
    victim = node.root / "victim"
    victim.write_text("precious")
    (node.ranks / "rank-0.jsonl").symlink_to(victim)
    (node.logs / "rank-0.log").symlink_to(victim)
    told_code = node.start(SCRIPT)
    told_code.communicate(timeout=120)
    assert told_code.returncode == 0 and victim.read_text() == "precious"


def test_a_line_of_another_attempt_that_was_cut_is_not_continued(node):
    (node.ranks / "rank-0.jsonl").write_text('{"at":1,"kind":"beat","no')
    node.start("pass").communicate(timeout=120)
    lines = (node.ranks / "rank-0.jsonl").read_text().splitlines()
    assert lines[0].endswith('"no') and '"start"' in lines[1]


@pytest.mark.rig
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_costs_lines_and_nothing_else(node):
    disk = node.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "allranks-test", disk], check=True, timeout=60)
    try:
        (disk / "ranks").mkdir()
        (disk / "logs").mkdir()
        node.ranks, node.logs = disk / "ranks", disk / "logs"
        script = (
            f"{node.beats}import os, sys, time\nfiller = {str(disk / 'filler')!r}\nbeats(1, 'start')\n"
            "try:\n    open(filler, 'wb').write(b'x' * 10**6)\nexcept OSError: pass\n"
            "for n in range(5000): print('lost', n, 'x' * 80)\n"
            "sys.stderr.write('lost too\\n'); os.write(2, b'') ; time.sleep(0.4)\n"
            "os.unlink(filler); print('kept'); time.sleep(0.3)\nsys.exit(7)\n"
        )
        told = node.run(script)
        assert told.code == 7
        assert told.log.endswith("kept\n") and told.log.count("lost") < 5000
        whole = [event for event in told.events if event["kind"] != "beat"]
        assert [event["kind"] for event in whole] == ["start", "end"] and whole[1]["data"] == {"code": 7}
    finally:
        subprocess.run(["umount", disk], check=True, timeout=60)
