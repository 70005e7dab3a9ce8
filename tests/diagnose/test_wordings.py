"""Errors that no pattern knows, named by the sentences that their words come nearest to."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import catalogue, diagnose, parse, symptoms, wordings
from allranks.diagnose.lines import Line
from allranks.diagnose.unknown_errors import MOST, NOTE, _different
from allranks.diagnose.wordings import Nearest, Sentences, features, words

FOLDER = Path(symptoms.__file__).parent
FILES = sorted(FOLDER.glob("*.txt"))

TOLD = [
    ("XpuError: OOM, the card's device memory is exhausted, could not allocate 3 GiB more", "cuda-oom"),
    ("frobnicate: cannot write the checkpoint shard: the volume has no free space", "disk-full-checkpoint"),
    ("ERROR: the ssh login to worker-3 was rejected, no key was accepted", "ssh-connection-failed"),
    ("RuntimeError: fused kernel was not compiled for this GPU's compute capability sm_120", "cuda-arch-unsupported"),
    ("ERROR: the hub answered 401, this model is gated and needs a token", "hf-hub-offline-or-auth"),
]  # fmt: skip

NOT_TOLD = [
    "ERROR: something went wrong in the blue box",
    "KeyError: 'apple'",
    "AssertionError",
    "ERROR: could not open the window of the simulator",
]


@pytest.mark.parametrize(("line", "cause"), TOLD)
def test_an_error_in_words_that_nobody_has_seen_is_named(line: str, cause: str) -> None:
    found = diagnose(parse(f"{line}\n", "x.log"))
    assert (found.cause, found.confidence) == (cause, "likely")


@pytest.mark.parametrize("line", NOT_TOLD)
def test_an_error_that_says_nothing_special_is_not_named(line: str) -> None:
    assert diagnose(parse(f"{line}\n", "x.log")).cause in (UNPROVEN, "rank-crashed-first")


def test_the_answer_says_that_only_the_words_are_known() -> None:
    line = "frobnicate: cannot write the checkpoint shard: the volume has no free space"
    found = diagnose(parse(f"{line}\n", "x.log"))
    assert NOTE in found.evidence or found.cause in catalogue.complaints()


def test_steps_that_follow_disprove_it() -> None:
    text = TOLD[0][0] + "\n" + "".join(f"step {n} loss 1.5\n" for n in range(60))
    assert diagnose(parse(text, "x.log")).cause == "benign-noise"


def test_each_file_belongs_to_a_cause_and_each_sentence_to_one() -> None:
    known = {name.replace("-", "_") for name in (*catalogue.modules(), UNPROVEN)}
    assert FILES and {file.stem for file in FILES} <= known
    owner: dict[str, str] = {}
    for file in FILES:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert line.strip() == line != "" and line.isprintable(), (file.name, line)
            assert owner.setdefault(line, file.stem) == file.stem, (file.name, line)


def test_nearly_every_sentence_belongs_to_its_own_cause() -> None:
    """A sample is judged by all others. Sentences of two causes that say the same lower this."""
    rows = [
        (name, line)
        for name in (*catalogue.modules(), UNPROVEN)
        for line in wordings.lines(symptoms.__name__, name)
    ]
    apart = rows[7::20]
    every = Sentences(row for number, row in enumerate(rows) if number % 20 != 7)
    told = [(cause, every.vote(line)) for cause, line in apart]
    right = sum(found is not None and found.cause == cause for cause, found in told)
    assert len(apart) >= 450 and right / len(apart) > 0.7


def test_words_are_those_of_names_too_and_long_numbers_are_alike() -> None:
    assert words("ncclSystemError: OUT_OF_MEMORY (12345 bytes, code 13) at the nodes") == [
        "nccl", "system", "error", "out", "memory", "#", "byte", "code", "13", "node",
    ]  # fmt: skip
    assert words("x" * 5000) and len(words("word " * 5000)) < 200
    assert features("one two") == {"one", "two", ("one", "two")}


def test_words_that_say_the_same_are_alike() -> None:
    assert words("it can't load, it couldn't load, unable to load, cannot load") == ["cannot", "load"] * 4
    assert words("two GPUs failed") == words("two gpu failure")
    assert words("it is not found") == words("it isn't found")


def test_words_of_other_scripts_are_in_english_if_the_glossary_has_them() -> None:
    assert words("显存不足") == words("gpu memory not enough")
    assert words("爆显存 (GPU 3)") == words("gpu out of memory (GPU 3)")
    assert words("メモリが不足しています") == words("memory not enough")
    assert words("찾을 수 없") == words("not found")
    assert words("鳥が歌う") == []
    rows = [line.split(" ") for line in wordings.lines("allranks.diagnose", "glossary")]
    assert all(len(row) > 1 and not row[0].isascii() and "".join(row[1:]).isascii() for row in rows)
    assert len({row[0] for row in rows}) == len(rows) > 200


def test_a_vote() -> None:
    every = Sentences(
        [("a", "red apple falls"), ("a", "green apple falls"), ("b", "car stops"), ("b", "bus stops")]
    )
    assert every.vote("an apple falls") is not None and every.vote("an apple falls").cause == "a"
    assert every.vote("the car stops").cause == "b"
    assert every.vote("zebra") is None and Sentences([]).vote("zebra") is None
    clear, mixed = every.vote("red apple falls"), every.vote("red apple car stops")
    assert isinstance(clear, Nearest) and 0 < mixed.lead < clear.lead <= 1
    unknown = every.vote("red apple falls gently upon zebras")
    assert unknown.cause == "a" and unknown.lead < clear.lead
    assert sum(share for share, _ in every.probabilities("red car")) == pytest.approx(1)


def test_what_was_learned_is_read_again_without_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, text = [*catalogue.modules(), UNPROVEN], TOLD[0][0]
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(wordings, "_kept", {})
    told = wordings.read(symptoms.__name__, names).probabilities(text)
    assert len(list(tmp_path.rglob("*.sentences"))) == 1
    wordings._kept.clear()
    monkeypatch.setattr(Sentences, "learned", None)  # it must not learn
    assert wordings.read(symptoms.__name__, names).probabilities(text) == told
    wordings._kept.clear()
    with pytest.raises(TypeError):  # other sentences, or their other owner
        wordings.read(symptoms.__name__, names[1:])


def test_sentences_are_read_out_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr("fruit/__init__.py", "")
        file.writestr("fruit/red_apple.txt", "an apple fell\nan apple rolled\n")
    monkeypatch.syspath_prepend(str(bundle))
    assert wordings.lines("fruit", "red-apple") == ["an apple fell", "an apple rolled"]
    assert wordings.lines("fruit", "pear") == []


def test_an_error_behind_which_training_went_on_is_not_named_when_the_job_fails_later() -> None:
    line = "ERROR: the volume of the metrics has no free space left, one point was not written"
    assert diagnose(parse(f"{line}\n", "x.log")).cause == "disk-full-checkpoint"
    steps = "".join(f"step {n} loss 1.5\n" for n in range(35))
    failed = f"{line}\n{steps}srun: error: node-3: task 3: Exited with exit code 1\n"
    assert diagnose(parse(failed, "x.log")).cause != "disk-full-checkpoint"


def test_errors_that_ranks_repeat_are_compared_once() -> None:
    places = [(Line(f"worker {n} lost item {n}", None, None, "x", None), n, 0) for n in range(3 * MOST)]
    assert [place[1] for place in _different(places)] == [0, 10, 100]
    assert _different(places[:MOST]) == places[:MOST]
    texts = ["a" * n for n in range(1, 3 * MOST)]
    assert len(_different([(Line(text, None, None, "x", None), 0, 0) for text in texts])) == MOST
