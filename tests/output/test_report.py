"""The report: what it says of each kind of run, and that nothing a node said becomes markup."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allranks.output import report, report_failure
from allranks.output.report_collect import Collector
from allranks.output.report_parts import run_again
from allranks.output.report_style import SCRIPT, STYLE, digest

VOID = {"meta", "link", "rect", "path", "br"}
CLOSED_BY_NEXT = {"tr", "td", "th"}


class Page(HTMLParser):
    """Tags in order, attributes, and the visible text; checks that tags are balanced."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in CLOSED_BY_NEXT:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def page(directory: Path) -> Page:
    return Page(report.render(report.collect(str(directory))))


# ---- what it says ----


def test_a_healthy_run(run_directory):
    text = page(run_directory("healthy")).text
    assert "Trained 36 steps on 3 ranks of 3 nodes in 31.6 s. The adapter is whole and changes" in text
    assert "30 tensors, 28,032 parameters" in text
    assert "9f2c41d08c7a6be1d04c8a21c7f90b1d6f0a5e3b2c1d4e5f60718293a4b5c6d7" in text
    assert "node-[0-2] shares its host with the other nodes." in text
    assert "4 notes, 10 fine" in text
    for phase in (
        "checking",
        "preparing",
        "starting",
        "training",
        "verifying",
        "loading the adapter",
        "pruning",
    ):
        assert phase in text


def test_a_killed_rank_is_named_first(run_directory):
    found = page(run_directory("killed"))
    assert "Failed at step 13 of 36: node-1: rank 1 (pid 41001) was ended by signal 9" in found.text
    assert "node-[0,2] ranks 0,2: failed as a consequence" in found.text
    assert "rank 1’s last step" in found.text
    assert found.text.count("was ended by signal 9") == 1, "said once"
    assert "step 12, whole: /home/ubuntu/.allranks/runs/x/output/checkpoint-12" in found.text
    assert "allranks run examples/tiny-deepseek-v3.yaml --resume auto" in found.text
    assert "Rank 1 on node-1: its last 28 lines step 0 step 1" in found.text
    assert "The kernel’s log of node-1 names no out-of-memory kill" in found.text
    guilty = [attrs for tag, attrs in found.tags if tag == "tr" and attrs.get("class") == "gone"]
    assert len(guilty) == 1
    html = report.render(report.collect(str(run_directory("killed"))))
    assert re.findall(r"<h2>(\w+)", html)[0] == "Cause"
    marked = re.findall("<mark>(.*?)</mark>", html)
    assert [line.strip() for line in marked] == [
        "File &quot;/home/ubuntu/team/collate.py&quot;, line 41, in __call__",
        "labels = [self.names[row[&quot;label&quot;]] for row in rows]",
    ]
    assert "KeyError: &#x27;neutral &lt;b&gt;&#x27;" in html


def test_the_users_frame_is_marked_behind_torchs_rank():
    """As torch's excepthook prints a traceback."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/me/train.py", line 12, in <module>',
        "    l = m(x)",
        '  File "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward',
        "    return F.linear(input)",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    ]
    for prefix in ("", "[rank1]: "):
        shown = [prefix + line for line in lines]
        assert report_failure.own_frame(shown, {"file": "/home/me/train.py", "line": 12}) == [1, 2]
        assert report_failure.own_frame(shown, {}) == [1, 2]


def test_a_stall_shows_where_all_ranks_stood(run_directory):
    html = report.render(report.collect(str(run_directory("stalled"))))
    stacks = re.findall(r'<div( class="guilty")?><h4>(.*?)</h4><pre class="log">(.*?)</pre>', html, re.DOTALL)
    assert [(guilty != "", who) for guilty, who, _ in stacks] == [
        (True, "rank 13"),
        (False, "ranks 0-12,14-23"),
    ]
    assert "<mark>/home/ubuntu/team/collate.py:88 in open_shard</mark>" in stacks[0][2]
    assert stacks[1][2].splitlines()[0].endswith("distributed_c10d.py:2810 in all_reduce")
    text = Page(html).text
    assert "step 36, not verified: output/checkpoint-36" in text
    assert "Kernel log of node-1 nfs: server 10.0.0.9 not responding" in text
    assert text.count("has not moved for 20 s") == 1
    assert "its last 30 lines step 30 step 31" in text


@pytest.mark.parametrize(
    ("file", "resumes", "saves", "said"),
    [
        (
            "a b.yaml",
            True,
            [{"path": "x/1", "step": 5, "whole": None}],
            "allranks run 'a b.yaml' --resume auto",
        ),
        (
            "a.yaml",
            False,
            [{"path": "x/1", "step": 5, "whole": True}],
            "allranks run a.yaml after the fix; it starts",
        ),
        ("a.yaml", True, [], "Nothing was saved before the failure. go on allranks run a.yaml after the fix"),
        (
            None,
            True,
            [{"path": "x/1", "whole": True}],
            "go on the command that started it, with --resume auto",
        ),
    ],
)
def test_what_goes_on_from_a_failure(run_directory, file, resumes, saves, said):
    data = report.collect(str(run_directory("killed")))
    data.update(adapter={}, can_resume=resumes)
    data["state"].update(file=file, saves=saves)
    assert said in Page(report.render(data)).text


@pytest.mark.parametrize(
    ("state", "options", "said"),
    [
        (
            {"file": "command line", "typed": ["--cpu", "--", "train.py", "a b"]},
            (),
            "allranks run --cpu -- train.py 'a b'",
        ),
        (
            {"file": "command line", "typed": ["--cpu", "--", "train.py"]},
            ("--resume", "auto"),
            "allranks run --cpu --resume auto -- train.py",
        ),
        (
            {"file": "a.yaml", "typed": ["/x/a.yaml", "--nodes", "n[1-3]"]},
            (),
            "allranks run /x/a.yaml --nodes 'n[1-3]'",
        ),
        ({"file": "a.yaml", "typed": []}, (), "allranks run a.yaml"),
        ({"typed": "x"}, (), ""),
    ],
)
def test_a_run_that_was_typed_is_started_again_by_its_words(state, options, said):
    assert run_again(state, *options) == said


def test_the_first_word_of_a_failure_is_no_verdict(run_directory):
    root = run_directory("killed")
    journal, state = root / "keeper" / "journal.jsonl", root / "keeper" / "state.json"
    said = {"cause": "rank-sigkilled", "where": {"node": "node-0", "rank": 0}, "evidence": ["so far"]}
    event = {"at": 1.0, "kind": "diagnosis", "node": "node-0", "rank": None}
    first = {**event, "data": {**said, "provisional": True}}
    lines = [line for line in journal.read_text().splitlines() if '"diagnosis"' not in line]
    journal.write_text("\n".join([*lines, json.dumps(first)]) + "\n")
    state.write_text(json.dumps({**json.loads(state.read_text()), "diagnosis": None, "state": "stopped"}))
    assert report.collect(str(root))["diagnosis"] is None
    state.write_text(json.dumps({**json.loads(state.read_text()), "diagnosis": first["data"]}))
    kept = report.collect(str(root))["diagnosis"]
    assert kept["cause"] == "rank-sigkilled", "of a keeper that died before its verdict"


def test_a_run_that_never_started(run_directory):
    text = page(run_directory("before-start")).text
    assert "Failed before the first step: node-2: its supervisor did not reach the keeper" in text
    assert "No rank started, so nothing was measured." in text
    assert text.count("never started") == 3
    assert text.count("did not reach the keeper") == 1, "said once"
    assert "Cause node-did-not-join why no rank was started anywhere" in text
    assert "Nothing was saved before the failure. go on allranks run examples/tiny-deepseek-v3.yaml" in text


def test_many_ranks_are_a_band_with_the_odd_one_named(run_directory):
    data = report.collect(str(run_directory("large")))
    assert data["charts"]["step"]["bands"] and not data["charts"]["step"]["lines"]
    found = Page(report.render(data))
    far = [attrs for tag, attrs in found.tags if tag == "tr" and attrs.get("class") == "far"]
    assert len(far) == 1, "rank 13, which waits for its data, and no other"
    assert "13 · node-1" in found.text
    assert "deepspeed 0.19.7, the others have 0.19.8." in found.text
    assert "2 different sets" in found.text


def test_a_loss_that_is_no_number(run_directory):
    data = report.collect(str(run_directory("diverged")))
    assert data["summary"]["last_loss"] is None
    assert data["summary"]["loss_broken_at"] == 20
    text = Page(report.render(data)).text
    assert "no number since step 20" in text
    assert "17 values no finite number, from step 20 on" in text


def test_figures_are_those_of_the_journal(run_directory):
    directory = run_directory("healthy")
    data = report.collect(str(directory))
    lines = (directory / "keeper" / "journal.jsonl").read_text().splitlines()
    rows = [
        (e["rank"], row) for e in map(json.loads, lines) if e["kind"] == "beat" for row in e["data"]["steps"]
    ]
    losses = [row[1] for rank, row in rows if rank == 0]
    assert [p[2] for p in data["charts"]["loss"]["points"]] == losses
    seconds = sorted(row[2] for rank, row in rows if rank == 2)
    assert math.isclose(data["ranks"][2]["step_seconds"], (seconds[17] + seconds[18]) / 2)
    tokens, spent = sum(r[4] for _, r in rows), sum(r[2] for _, r in rows) / 3
    assert math.isclose(data["summary"]["tokens_per_second"], tokens / spent)
    assert [round(p["seconds"], 6) for p in data["phases"][:3]] == [4.3, 0.8, 1.9]
    assert data["rank_phases"]["importing"][2] == 5.0 and data["rank_phases"]["loading"][2] == 3.0
    planned = {row["what"]: row for row in data["plan"]}
    assert planned["trainable parameters"]["difference"] == 0
    assert math.isclose(planned["step time"]["measured"], data["summary"]["step_seconds"])
    assert planned["all parameters, with the adapter"]["planned"] == 306256 + 28032


# ---- one file, no network, nothing executable but ours ----


@pytest.mark.parametrize("kind", ["healthy", "killed", "large", "before-start", "diverged"])
def test_the_page_asks_the_network_for_nothing(run_directory, kind):
    html = report.render(report.collect(str(run_directory(kind))))
    found = Page(html)
    assert found.wrong == [] and found.open == []
    for tag, attrs in found.tags:
        assert tag not in (
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "audio",
            "video",
            "use",
            "image",
        )
        assert not [
            name for name in attrs if name.startswith("on") or name in ("style", "src", "srcset", "action")
        ]
        href = attrs.get("href")
        assert href is None or href.startswith("#") or (tag == "link" and href == "data:,")
    assert "://" not in STYLE + SCRIPT and "@import" not in STYLE and "url(" not in STYLE
    (policy,) = [a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none';")
    assert f"script-src {digest(SCRIPT)};" in policy and f"style-src {digest(STYLE)};" in policy
    assert html.count("<script") == 1 and f"<script>{SCRIPT}</script>" in html
    assert html.count("<style") == 1 and f"<style>{STYLE}</style>" in html


def test_each_chart_has_its_table_and_a_description(run_directory):
    found = Page(report.render(report.collect(str(run_directory("healthy")))))
    charts = [a["id"] for t, a in found.tags if t == "figure"]
    assert charts == [
        f"chart-{name}"
        for name in [
            *["loss", "norm", "rate", "tokens", "heat", "step", "step-by-rank"],
            *["memory-stack", "memory", "memory-by-rank"],
        ]
    ]
    images = [a for t, a in found.tags if t == "svg" and a.get("role") == "img"]
    assert len(images) == 6 + 1 + 4 and all(a["aria-label"] for a in images)
    tables = [a for t, a in found.tags if t == "table"]
    assert len(tables) >= 7
    assert sum(1 for t, a in found.tags if t == "tr" and "data-p" in a) > 36 * 4


def test_the_loss_comes_first_and_nothing_that_is_fine_is_red(run_directory):
    for kind in ("healthy", "large"):
        found = Page(report.render(report.collect(str(run_directory(kind)))))
        ids = [attrs["id"] for tag, attrs in found.tags if tag == "section"]
        assert ids[:3] == ["loss", "adapter", "findings"]
        marked = {attrs.get("class") for _, attrs in found.tags} & {
            "gone",
            "wrong",
            "bad",
            "bad-text",
            "mark end",
        }
        assert not marked, "a slow rank and other versions are worth a look, and no error"


def test_the_machines_have_their_charts(run_directory):
    data = report.collect(str(run_directory("large")))
    found = Page(report.render(data))
    figures = [attrs["id"] for tag, attrs in found.tags if tag == "figure"]
    assert figures[-5:] == [
        f"chart-{n}" for n in ("gpu-use", "gpu-power", "gpu-temperature", "network", "cpu")
    ]
    assert re.search(r"GPU temperature, hottest of a node highest 7\d °C, node-2", found.text)
    assert re.search(r"Network, received by a node highest 2\.\d\d GiB/s, node-\d", found.text)
    assert list(data["charts"]["nodes"]["gpu_watts"]["lines"]) == ["node-0", "node-1", "node-2"]
    assert all(8 * 280 <= p[2] <= 8 * 320 for p in data["charts"]["nodes"]["gpu_watts"]["lines"]["node-0"])


def test_memory_is_planned_and_measured_as_stacks(run_directory):
    found = Page(report.render(report.collect(str(run_directory("large")))))
    stacks = [
        a["aria-label"] or "" for t, a in found.tags if t == "svg" and " GiB" in (a.get("aria-label") or "")
    ]
    assert stacks[0].startswith("plan: parameters 52.1 GiB, activations 4.20 GiB, optimizer 410 MiB")
    assert re.match(
        r"node-0, rank 7: held by torch, peak 62\.\d GiB, CUDA and other programs 3\.\d+ GiB", stacks[1]
    )
    text = page(run_directory("healthy")).text
    assert "Memory of a node, planned and measured" in text and "its ranks, peaks together" in text


def test_the_map_of_ranks_and_steps_shows_who_is_slow(run_directory):
    data = report.collect(str(run_directory("large")))
    heat = data["charts"]["heat"]
    assert heat["of"] == "own_seconds" and len(heat["rows"]) == 24 and len(heat["columns"]) <= 96
    assert (heat["columns"][0][0], heat["columns"][-1][1]) == (1, 400)
    slow = [sum(v > 1.5 * heat["median"] for v in row if v is not None) for row in heat["values"]]
    assert slow.index(max(slow)) == 13 and sorted(slow)[-2] <= 2
    text = Page(report.render(data)).text
    assert (
        re.search(r"Own work by rank and step median 0.1\d+ s of a step of 0.2\d+ s", text)
        and "rank 13 node-1 steps" in text
    )
    tiny = [[None if v is None else 0.01 * v for v in row] for row in heat["values"]]
    data["charts"]["heat"] = {**heat, "values": tiny, "median": 0.01 * heat["median"]}
    assert "No cell is a tenth of a step slower" in Page(report.render(data)).text, "it holds nobody up"
    without = [[None if v is None else heat["median"] for v in row] for row in heat["values"]]
    data["charts"]["heat"] = {**heat, "values": without}
    assert "No cell is a tenth of a step slower than the median." in Page(report.render(data)).text


def test_events_are_listed_in_order_and_a_flood_is_counted(journals, tmp_path):
    run = journals.killed()
    for n in range(40):
        run.say("exception", {"type": "ValueError", "message": f"<b>{n}"}, "node-2", 2)
    run.say("lost", {"why": "closed"}, "node-1")
    data = report.collect(str(run.write(tmp_path / "r")))
    told = data["story"]["events"]
    assert [event["at"] for event in told] == sorted(event["at"] for event in told)
    assert data["story"]["left"] == {"exception": 18}, "two of the run's own came first"
    text = Page(report.render(data)).text
    assert "node-1 rank 1 ended by signal 9" in text and "node-1 connection lost: closed" in text
    assert "In the journal: 18 more of the kind exception." in text


def test_a_page_of_24_ranks_is_small(run_directory):
    assert len(report.render(report.collect(str(run_directory("large")))).encode()) <= 500_000


@pytest.mark.lengthy
def test_a_page_of_1000_ranks_is_small(journals, tmp_path):
    """Bins bound what a chart costs, so more steps than these make no larger page."""
    run = journals.Run(nodes=125, gpus=8, steps=400, gpu=True)
    run.check()
    run.launch()
    run.train(slow_rank=613)
    run.finish()
    collector = Collector(bins=196)
    for event in run.events:
        collector.add(event)
    run.events = []
    data = report.collect(str(run.write(tmp_path / "r")), collector)
    html = report.render(data)
    assert len(html.encode()) <= 2_000_000
    heat = data["charts"]["heat"]
    assert len(heat["rows"]) <= 64 and len(heat["columns"]) <= 96
    slow = max(range(len(heat["rows"])), key=lambda row: sum(v or 0.0 for v in heat["values"][row]))
    assert heat["rows"][slow][0] <= 613 <= heat["rows"][slow][1]
    assert "a row is the slowest of 16 ranks" in html


# ---- secrets ----


def test_a_secret_named_in_the_job_is_not_shown(journals, tmp_path):
    run = journals.healthy()
    job = run.job
    run.job = lambda node: {**job(node), "env": {"HF_TOKEN": "hf_canary", "OMP_NUM_THREADS": "1"}}
    html = report.render(report.collect(str(run.write(tmp_path / "r"))))
    assert "hf_canary" not in html
    assert "the environment must hold HF_TOKEN" in html
    assert "OMP_NUM_THREADS=1" in html


# ---- hostile and broken input ----

NASTY = "</script><script>alert(1)</script>\"' onload=x \x1b[31m\u202e <b>&amp;"
KINDS = """start settings beat saved exception end rank-gone torchrun-ended phase finding diagnosis adapter pruned
sample stack evidence kernel lost restart resume replaced notice torchrun stopping copied odd"""
FIELDS = """phase step steps total_steps rss_bytes gpu_bytes loss pid host gpu versions where saw why fix evidence
cause collateral failures path tensors parameters whole changed removed seconds verdict id code type message shard
shards first_seen max_difference local_rank world_size gpus nics cpu frames lines why stands again from by attempt"""
INNER = """busy utilization temperature received_bytes_per_second uuid where node rank file saw why fix evidence
gpu name path steps findings line env zero_optimization"""
TAGS = """html head meta title link style body main header script footer p span b code h1 h2 h3 small dl div dt dd nav
a section article pre details summary table thead tbody tr th td caption figure figcaption svg path rect text ul
li"""

values = st.none() | st.floats() | st.integers(-(10**12), 10**12) | st.text(max_size=6) | st.just(NASTY)
anything = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(INNER.split()), inner, max_size=4)
    ),
    max_leaves=8,
)
hostile = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.floats(1.7e9, 1.8e9) | values,
            "kind": st.sampled_from(KINDS.split()),
            "node": st.just(NASTY) | values,
            "rank": st.integers(-1, 3) | values,
            "data": st.dictionaries(st.sampled_from(FIELDS.split()), anything, max_size=5) | anything,
        }
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile, anything, anything)
def test_whatever_a_node_says_the_page_stays_ours(tmp_path, events, state, plan):
    directory = tmp_path / "run"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "keeper").mkdir(parents=True)
    (directory / "nodes" / "a").mkdir(parents=True)
    (directory / "keeper" / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    (directory / "keeper" / "state.json").write_text(
        json.dumps(
            {
                "state": "failed",
                "diagnosis": state,
                "saves": [{"path": NASTY, "text": NASTY}, state],
                "x": state,
            }
        )
    )
    (directory / "plan.json").write_text(json.dumps({"ranks": plan, "memory": plan, "deepspeed": plan}))
    (directory / "nodes" / "a" / "job.json").write_text(
        json.dumps({"argv": [NASTY], "env": plan, "files": state})
    )
    (directory / "run.json").write_text(json.dumps(state))
    ends = {"logs": [{"node": NASTY, "rank": 1, "lines": [NASTY, plan]}, state]}
    (directory / "keeper" / "log-ends.json").write_text(json.dumps(ends))
    html = report.render(report.collect(str(directory)))
    found = Page(html)
    assert {tag for tag, _ in found.tags} <= set(TAGS.split())
    assert html.count("<script") == 1
    assert not [n for _, attrs in found.tags for n in attrs if n.startswith("on")]
    assert found.wrong == [] and found.open == []
    assert "\x1b" not in html and "\u202e" not in html
    html.encode("utf-8")


def test_a_node_whose_name_is_no_text_is_a_node_without_a_name(run_directory):
    directory = run_directory("healthy")
    journal = directory / "keeper" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"node": "node-1"', '"node": ["node-1"]'))
    assert page(directory).wrong == []


def test_an_empty_directory_is_a_report_that_says_so(tmp_path):
    found = page(tmp_path)
    assert "What became of this run could not be read." in found.text
    assert "keeper/state.json: No such file" in found.text


def test_what_a_script_saved_stands_in_it(run_directory):
    directory = run_directory("healthy")
    file = directory / "keeper" / "state.json"
    saves = [
        {
            "path": "/work/out/checkpoint-20",
            "title": "Hugging Face model",
            "text": "2 files",
            "step": 20,
            "whole": True,
        },
        {
            "path": "/work/out/old.pt",
            "title": "file of torch.save",
            "why": "checkpoint-truncated: …",
            "whole": False,
        },
        {"path": "/b/x.pt", "title": "", "why": "it is not on a", "whole": None},
    ]
    file.write_text(json.dumps({**json.loads(file.read_text()), "saves": saves}))
    text = page(directory).text
    for said in (
        "/work/out/checkpoint-20", "whole , as far as its files tell; Hugging Face model; 2 files; step 20",
        "not whole ; file of torch.save; checkpoint-truncated", "not judged ; it is not on a",
    ):  # fmt: skip
        assert said in text


def test_damage_is_named(run_directory):
    directory = run_directory("healthy")
    journal = directory / "keeper" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-40] + b"\n\xff\xfe\n" + b"[" * 5000 + b"\n")
    (directory / "plan.json").write_text("[1, 2]")
    text = page(directory).text
    assert "3 damaged lines passed over" in text
    assert "plan.json: not a JSON object" in text


def test_without_the_keepers_journal_the_nodes_own_are_read(run_directory):
    directory = run_directory("killed")
    (directory / "nodes" / "node-0" / "ranks").mkdir()
    (directory / "keeper" / "journal.jsonl").rename(directory / "nodes" / "node-0" / "ranks" / "rank-0.jsonl")
    text = page(directory).text
    assert "keeper/journal.jsonl: not here" in text
    assert "rank 1’s last step" in text


def test_one_step_is_a_dot(journals, tmp_path):
    run = journals.Run(steps=1)
    run.check()
    run.launch()
    run.train()
    run.finish()
    html = report.render(report.collect(str(run.write(tmp_path / "one"))))
    assert re.search(r'class="line s0" d="M500.0 [\d.]+h0"', html)
    assert "Trained 1 step on 3 ranks" in Page(html).text


# ---- size ----


@pytest.mark.lengthy
def test_a_thousand_ranks_and_ten_thousand_steps(tmp_path):
    """Rows stand 250 steps apart here; the page's size depends on the bins, not on the rows."""
    collector = Collector()
    for rank in range(1000):
        data = {
            "pid": 5000 + rank,
            "host": f"host-{rank // 8}",
            "local_rank": rank % 8,
            "gpu": {"uuid": f"GPU-{rank}"},
        }
        collector.add({"at": 1.7e9, "kind": "start", "node": f"node-{rank // 8}", "rank": rank, "data": data})
        waits = 0.5 if rank == 777 else 0.01
        rows = [[s, 3.0, 1.0 + rank % 7 * 1e-3, waits, 4096, 1e-4] for s in range(1, 10_001, 250)]
        data = {
            "phase": "training",
            "step": 10_000,
            "total_steps": 10_000,
            "steps": rows,
            "rss_bytes": 10**9 + rank,
        }
        collector.add(
            {"at": 1.7e9 + 60, "kind": "beat", "node": f"node-{rank // 8}", "rank": rank, "data": data}
        )
    job = {
        "argv": ["python", "-m", "torch.distributed.run", *[f"--option-{n}={'v' * 40}" for n in range(60)]]
    }
    for node in range(125):
        folder = tmp_path / "nodes" / f"node-{node}"
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(json.dumps({**job, "node_rank": node, "env": {"NAME": "v" * 200}}))
    data = report.collect(str(tmp_path), collector)
    html = report.render(data)
    assert len(html.encode()) < 5_000_000
    assert "777 · node-97" in html


def test_it_renders_on_python_3_8(run_directory, another_python):
    code = "import sys; from allranks.output import report; print(len(report.render(report.collect(sys.argv[1]))))"
    done = subprocess.run(
        [another_python("3.8"), "-c", code, str(run_directory("killed"))],
        env={"PYTHONPATH": str(Path(report.__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10_000
