"""Folders that are made to hang the reader, to fill its memory or to break it: a finding within seconds, always."""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys

import pytest

from allranks import checkpoints
from allranks.checkpoints.pattern import Tries

SECONDS = 60
"""What stops a case that never ends; each takes a second or two."""
MEMORY = 900 << 20
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
from allranks.checkpoints import verify
report = verify(sys.argv[1])
print(json.dumps([report.exit_code, [f.id for f in report.findings]]))
"""


def verified(checkpoint):
    """(exit code, ids) of `verify` in a process with bounded time and memory."""
    out = subprocess.run(
        [sys.executable, "-c", CHILD, str(checkpoint.path), str(MEMORY)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr[-2000:]
    return json.loads(out.stdout)


def with_header(checkpoint, header):
    checkpoint.write(manifest=False)
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    checkpoint.weights.write_bytes(struct.pack("<Q", len(raw)) + raw)


NAME = "base_model.model." + "a" * 200
NO_SUCH_NAME = ("checkpoint-manifest-broken", "checkpoint-unreadable", "checkpoint-file-missing")
PATTERNS = [
    "(aa|a)*b",
    "(a|a)*b",
    "(a?a?a?)+b",
    "(.|a.)*z",
    "((a|aa))+b",
    "(a|b|ab)*c",
    "a?" * 200 + "a" * 200,
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_with_endlessly_many_ways(checkpoint, pattern):
    """It is tried all the same: none of them names this module, but for the last."""
    checkpoint.tensors = {}
    checkpoint.add("a" * 200, (8, 8))
    checkpoint.config["target_modules"] = pattern
    code, ids = verified(checkpoint.write(manifest=False))
    assert (code, "adapter-foreign-tensor" in ids) == ((0, False) if pattern == PATTERNS[-1] else (1, True))


@pytest.mark.parametrize("pattern", PATTERNS[:-1])
def test_such_a_pattern_of_ranks(checkpoint, pattern):
    checkpoint.tensors = {}
    checkpoint.add("a" * 200, (8, 8))
    checkpoint.config.update(target_modules=["a" * 200], rank_pattern={pattern: 8})
    code, _ = verified(checkpoint.write(manifest=False))
    assert code == 0


@pytest.mark.parametrize(
    "shape",
    [[10**19] * 300, [1] * 16_000, [2] * 100_000, [10**19] * 16, [1] * 17],
    ids=lambda s: f"{s[0]}x{len(s)}",
)
def test_an_absurd_shape(checkpoint, shape):
    with_header(
        checkpoint, {NAME + ".lora_A.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}
    )
    code, ids = verified(checkpoint)
    assert code == 1 and {"adapter-header-broken", "adapter-offsets-broken"} & set(ids)


@pytest.mark.lengthy
def test_half_a_million_empty_tensors(checkpoint):
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    with_header(checkpoint, {f"base_model.model.m{n}.lora_A.weight": entry for n in range(500_000)})
    assert verified(checkpoint) == [3, ["adapter-too-large"]]


@pytest.mark.lengthy
def test_a_header_of_one_long_list(checkpoint):
    with_header(checkpoint, b'{"a":[' + b"0," * 40_000_000 + b"0]}")
    assert verified(checkpoint) == [3, ["adapter-too-large"]]


@pytest.mark.parametrize(
    ("name", "size"), [("adapter_config.json", 255 << 20), ("trainer_state.json", 255 << 20)]
)
def test_a_huge_file_with_nothing_in_it(checkpoint, name, size):
    checkpoint.write(manifest=False)
    with (checkpoint.path / name).open("r+b") as file:
        file.truncate(size)
    code, ids = verified(checkpoint)
    assert code == 3 and "checkpoint-unreadable" in ids


@pytest.mark.parametrize("name", ["\ud800", "a\udfff/b", "a" * 70_000, "a/" * 40_000 + "a"])
def test_a_manifest_with_a_name_that_no_file_can_have(checkpoint, name):
    checkpoint.write()
    path = checkpoint.path / "allranks.json"
    manifest = json.loads(path.read_text())
    manifest["files"][name] = {"bytes": 1, "sha256": "0" * 64}
    path.write_text(json.dumps(manifest))
    code, ids = verified(checkpoint)
    assert code in (1, 3) and ids[0] in NO_SUCH_NAME


def test_names_that_cannot_be_written_to_a_terminal_are_findings(checkpoint):
    checkpoint.put("base_model.model.\ud800.weight", (4,))
    checkpoint.config.update(target_modules=["\ud800"], base_model_name_or_path="\udfff")
    code, ids = verified(checkpoint.write(manifest=False))
    assert code == 1 and "adapter-foreign-tensor" in ids


def test_what_nobody_thought_of_is_unknown(checkpoint, monkeypatch):
    def surprise(*_):
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(sys.modules["allranks.checkpoints.verify"], "scan", surprise)
    report = checkpoints.verify(str(checkpoint.write(manifest=False).path))
    assert [f.id for f in report.findings] == ["checkpoint-unreadable"] and report.exit_code == 3


# ---- the expressions themselves ----

PIECES = [
    "a",
    "b",
    ".",
    "*",
    "+",
    "?",
    "(",
    ")",
    "|",
    "[ab]",
    "[^a]",
    "(?:",
    "{1,2}",
    "^",
    "$",
    r"\b",
    "(?!",
    r"\w",
    r"\.",
]


@pytest.mark.lengthy
def test_all_ways_at_once_say_what_re_says():
    source, tried = random.Random(7), 0
    for _ in range(20_000):
        pattern = "".join(source.choice(PIECES) for _ in range(source.randint(1, 9)))
        text = "".join(source.choice("ab.") for _ in range(source.randint(0, 7)))
        try:
            wanted = re.fullmatch(pattern, text) is not None
        except re.error:
            continue
        said = Tries().matches(
            "(?:" + pattern + ")" + "(?:|x)" * 7, text
        )  # too many branches for `re` itself
        tried += said is not None
        assert said in (None, wanted), (pattern, text)
    assert tried > 2000


@pytest.mark.parametrize(
    "pattern",
    [
        r".*\.(q_proj|v_proj)",
        r"^(?!.*visual)(?:.*\.)?(?:q_proj|k_proj)$",
        r"(?:.*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|v_proj).*?)|(?:\bmodel\.layers\.[\d]{1,}\.self_attn\.q_proj)",
    ],
)
def test_expressions_of_real_adapters_are_tried(pattern):
    tries = Tries()
    assert tries.matches(pattern, "model.layers.11.self_attn.q_proj") is True
    assert tries.matches(pattern, "model.visual.blocks.1.attn.qkv") is False
    assert tries.refused is None


def test_what_cannot_be_tried_is_not_and_is_remembered():
    tries = Tries()
    back = r"(a*b*c*d*)\1"
    assert tries.matches(back, "aa") is None and tries.refused == back
    assert Tries(0).matches("a", "a") is None
