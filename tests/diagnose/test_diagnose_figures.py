"""A foreign log's own figures, and which of them cannot be true of one run."""

from __future__ import annotations

import json

from allranks import cli
from allranks.diagnose import Evidence, parse
from allranks.diagnose.figures import disagreements, figures, in_words

ZERO = "zero stage 3\n[INFO] partition_parameters.py: num_params = 91992, num_elems = 671.03B\n"
MEMORY = "[INFO] [utils.py:782:see_memory_usage] MA {} GB    Max_MA 53.1 GB    CA 54.0 GB    Max_CA 54 GB\n"
SUMMARY = (
    "[INFO|trainer.py:2081]   Instantaneous batch size per device = 1\n"
    "[INFO|trainer.py:2084]   Total train batch size (w. parallel, distributed & accumulation) = {}\n"
    "[INFO|trainer.py:2085]   Gradient Accumulation steps = 16\n"
    "[INFO|trainer.py:2086]   Total optimization steps = 3,100\n"
    "trainable params: 97,006,592 || all params: 671,123,425,792 || trainable%: 0.0145\n"
)


def of(text):
    seen = Evidence()
    for line in parse(text, "x.log"):
        seen.add(line)
    return seen


def test_memory_that_fits_another_number_of_ranks():
    seen = of("world_size: 24\n" + ZERO + MEMORY.format("39.45"))
    (told,) = disagreements(seen)
    assert told.startswith("MA 39.45 GB fits 32 ranks, not 24")
    assert disagreements(of("world_size: 24\n" + ZERO + MEMORY.format("52.30"))) == []


def test_memory_without_zero_3_says_nothing():
    assert disagreements(of("world_size: 24\nnum_elems = 671.03B\n" + MEMORY.format("39.45"))) == []


def test_a_batch_that_fits_another_number_of_ranks():
    seen = of("world_size: 24\n" + SUMMARY.format("512"))
    assert disagreements(seen) == ["a total batch of 512 fits 32 ranks, not 24"]
    assert disagreements(of("world_size: 24\n" + SUMMARY.format("384"))) == []
    assert "not a multiple" in disagreements(of(SUMMARY.format("500")))[0]


def test_all_figures_are_read():
    found = figures(of("world_size: 24\n" + SUMMARY.format("1,384") + MEMORY.format("1.5")))
    assert found == {
        "world_size": 24, "batch_of_a_rank": 1, "batch": 1384, "accumulation": 16, "steps": 3100,
        "trainable": 97_006_592, "parameters": 671_123_425_792, "allocated_gib": 1.5, "reserved_gib": 54,
    }  # fmt: skip
    assert "trainable 97,006,592" in in_words(of(SUMMARY.format("384")))


def test_the_verb_prints_them(tmp_path, capsys):
    (tmp_path / "run.log").write_text("world_size: 24\n" + SUMMARY.format("512") + "KeyError: 1\n")
    assert cli.main(["diagnose", str(tmp_path)]) == 3
    assert "fits 32 ranks, not 24" in capsys.readouterr().out
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["figures"]["batch"] == 512
