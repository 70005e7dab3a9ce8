"""A planted canary is looked for in everything that a run leaves, shows or hands on."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest

from allranks.node import paths, run_reader
from allranks.node.redaction import forms
from allranks.node.secret_store import SecretStore

pytestmark = pytest.mark.lengthy

CANARY = "hf_C4nary+0f/the=run"
SPEAK = """
import base64, json, os, sys, time
token = os.environ["HF_TOKEN"]
print("plain", token, json.dumps({"t": token}), flush=True)
sys.stderr.write("basic " + base64.b64encode(("user:" + token).encode()).decode() + "\\n")
os.write(1, b"split " + token[:9].encode()); time.sleep(0.5); os.write(1, token[9:].encode() + b"\\n")
event = {"at": time.time(), "kind": "exception", "rank": 0, "data": {"message": "401 for " + token, token: 1}}
with open(os.path.join(os.environ["ALLRANKS_RANKS_DIR"], "rank-0.jsonl"), "a") as file:
    file.write(json.dumps(event) + "\\n")
with open(os.path.join(os.environ["ALLRANKS_LOGS_DIR"], "rank-0.log"), "a") as file:
    file.write("log " + token + "\\n")
with open("config.json", "w") as file:
    json.dump({"token": token}, file)
time.sleep(float(sys.argv[1]))
"""


def speaker(seconds):
    return ["/usr/bin/env", "python3", "-c", SPEAK, str(seconds)]


def holders(root):
    """The files below `root` that hold the canary in any form."""
    wanted = [form.encode() for form in forms(CANARY)]
    files = [path for path in Path(root).rglob("*") if path.is_file() and not path.is_symlink()]
    return [path.name for path in files if any(form in path.read_bytes() for form in wanted)]


def everything_in_proc(pid):
    return [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]


def test_the_canary_is_in_no_file_no_event_and_no_command_line(field, home):
    field.supervise(speaker(0.5), {"HF_TOKEN": CANARY}, secrets=["HF_TOKEN"])
    field.wait_for("exception")
    for block in everything_in_proc(field.supervisor.pid):
        assert CANARY.encode() not in block
    field.wait_for("swept")
    field.say(bye=True)
    assert field.supervisor.wait(40) == 0
    assert holders(home) == ["config.json"], "the script's own file is the user's"
    assert [event.data["path"] for event in field.journal("secret-found")] == [
        "nodes/node-0/work/config.json"
    ]
    assert field.wait_for("secret-found")["data"] == {"path": "nodes/node-0/work/config.json"}
    told = json.dumps([field.events, field.messages])
    assert not any(form in told for form in forms(CANARY))
    stars = "*" * len(CANARY)  # if the rank's file was masked before the supervisor read it
    assert field.wait_for("exception")["data"]["message"] in ("401 for [redacted]", f"401 for {stars}")
    assert not list(Path("/dev/shm").glob(f"allranks-*{field.run_id}*"))
    plain, basic, split = paths.read_text(field.node.torchrun_log).splitlines()
    assert plain == f'plain {stars} {{"t": "{stars}"}}' and split == f"split {stars}"
    assert basic.startswith("basic " + base64.b64encode(b"user:").decode()[:6]) and "*" * 25 in basic


def test_a_reader_never_sees_the_canary_while_the_run_lives(field):
    """It reads faster than the supervisor masks: what it is given is masked by itself."""
    field.supervise(speaker(1.0), {"HF_TOKEN": CANARY}, secrets=["HF_TOKEN"])
    field.wait_for("torchrun")
    texts, began = set(), time.monotonic()

    def said(words: str) -> bool:
        return any(words in text for text in texts)

    def whole() -> bool:
        return said("log " + "*" * len(CANARY)) and said("split " + "*" * len(CANARY))

    # 2 s, in which it says all; on a busy machine until it has
    while (seconds := time.monotonic() - began) < 2 or (not whole() and seconds < 60):
        for path in ("logs/torchrun.log", "logs/rank-0.log", "ranks/rank-0.jsonl"):
            try:
                texts.add(run_reader.chunk(field.run_id, f"nodes/node-0/{path}")["text"])
            except OSError:
                continue
    assert whole()
    # Of a secret that is half written nothing is shown that the rest would complete.
    assert not any(form in text for text in texts for form in forms(CANARY))
    assert not any("split " + CANARY[:4] in text for text in texts)


def test_the_logs_end_for_the_keeper_is_masked_too(field):
    field.supervise(speaker(2.0), {"HF_TOKEN": CANARY}, secrets=["HF_TOKEN"])
    field.wait_for("exception")
    field.say(logs=100_000)
    (logs,) = field.until(lambda: [message["logs"] for message in field.messages if "logs" in message])
    assert "plain " in logs["torchrun.log"] and CANARY not in json.dumps(logs)


def test_the_logs_of_a_killed_supervisor_are_masked_by_the_sweep(field, home):
    from allranks.node import sweep

    field.supervise(speaker(30), {"HF_TOKEN": CANARY}, secrets=["HF_TOKEN"])
    field.wait_for("exception")
    field.supervisor.kill()
    field.supervisor.wait()
    with open(field.node.rank_log(0), "a") as file:
        file.write("after the supervisor's death " + CANARY)
    assert SecretStore(field.directory, "node-0").values() == {"HF_TOKEN": CANARY}
    answer = sweep.sweep(field.run_id)
    assert answer["processes"] == [] and any("/allranks-" in path for path in answer["files"])
    assert holders(home) == ["config.json"]
    assert SecretStore(field.directory, "node-0").path() is None
