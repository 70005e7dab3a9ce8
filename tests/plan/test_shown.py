"""`allranks plan` as a person sees it: the seeds' run in figures, small models, scripts of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks.cli import main

ROOT = Path(__file__).resolve().parents[2]
SEEDS = str(ROOT / "examples" / "deepseek-v3-24xa100.yaml")


def shown(capsys, *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out


def test_the_seeds_run_in_figures(capsys, home) -> None:
    text = shown(capsys, SEEDS, "--samples", "5437649", "--price", "2")
    for figure in (
        "671,026,404,352 parameters, 37,552,282,624 active per token",
        "97,006,592 parameters (0.014 %), LoRA of rank 16",
        "fits: 62.7 GiB per GPU of 79.1 GiB, 16.5 GiB left",
        "parameters 52.1 GiB, activations 4.28 GiB, working set 3.41 GiB",
        "experts    lockstep, 8 at a time: working set 3.41 GiB, 62.7 GiB per GPU (fits), 5 min 02 s per step; "
        "planned, recommended",
        "a layer's at once: working set 21.1 GiB, 80.7 GiB per GPU (too close), 3 min 43 s per step",
        "elsewhere  Megatron with pipeline parallelism over the nodes: at best 10.3 s per step, 29 times faster",
        "node-2 (10.18.122.132): ranks 16 to 23",
    ):
        assert figure in text, figure
    assert "fits with" not in text, "nothing need change"


def test_the_seeds_run_with_a_leaf_in_figures(capsys, home) -> None:
    text = shown(capsys, SEEDS, "--samples", "5437649", "--price", "2", "--set", "train.experts=leaf")
    for figure in (
        "model.layers.3.mlp, 11,320,164,352",
        "too close: 80.7 GiB per GPU of 79.1 GiB, 1.58 GiB too much",
        "parameters 52.1 GiB, working set 21.1 GiB",
        "2.59 TB into a rank per step, 2.59 TB out of a node",
        "3 min 43 s on 100 Gb Ethernet (assumed), 220 tokens/s; limit: network between nodes",
        "28.7 s on 8 × 200 Gb InfiniBand (assumed), 1,714 tokens/s",
        "2,000 steps, 48,000 samples (0.9 % of 5,437,649)",
        "2,974 GPU hours, 5,948 at 2 per GPU hour",
        "1.34 TB of weights",
        "fits with  experts in lockstep: under train: experts: lockstep   (1.5 times the traffic between ranks)",
        "offload to host memory: deepspeed: zero3-offload",
        "4 nodes: under nodes: - {name: node-3, gpus: 8}",
        "(hpZ): needs 240.1 GiB per GPU, 160.9 GiB more than there is",
        "node-2 (10.18.122.132): ranks 16 to 23",
    ):
        assert figure in text, figure
    assert "zero_optimization." not in text, "the DeepSpeed JSON is for --explain"
    assert "gradients" not in text, "parts that decide nothing are left out"


def test_part_2s_targets_are_caught_in_the_example(capsys, home) -> None:
    targets = "train.llamafactory.lora_target=q_proj,v_proj,k_proj,o_proj"
    assert main(["plan", SEEDS, "--set", targets, "--json"]) == 1
    plan = json.loads(capsys.readouterr().out)
    (finding,) = [f for f in plan["findings"] if f["id"] == "lora-targets-missing"]
    assert plan["trainable_parameters"] == 22_986_752 and "97,006,592" in finding["why"]


def test_32_ranks_fit(tmp_path, capsys, home) -> None:
    """The printed line is pasted; nothing else changes."""
    text = Path(SEEDS).read_text().replace("user: ubuntu", "  - {name: node-3, gpus: 8}\nuser: ubuntu")
    (tmp_path / "deepseek-v3-24xa100.yaml").write_text(text)
    config = Path(SEEDS).with_suffix("").with_name("deepseek-v3-24xa100.config.json")
    (tmp_path / config.name).write_text(config.read_text())
    out = shown(capsys, str(tmp_path / "deepseek-v3-24xa100.yaml"))
    assert "fits: 49.4 GiB per GPU" in out and "parameters 39.1 GiB" in out and "fits with" not in out
    assert "a layer's at once: working set 21.1 GiB, 67.4 GiB per GPU (fits)" in out


def test_explain_gives_every_value_its_reason(capsys, home) -> None:
    text = shown(capsys, SEEDS, "--explain")
    assert main(["plan", SEEDS, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    for key, reason in plan["deepspeed_reasons"].items():
        assert f"{key} = " in text and reason in text
    for row in plan["advice"]["refused"]:
        assert f"{row['name']}: {row['reason']}" in text
    for one in plan["traffic"]["networks"]:
        assert one["source"] in text
    assert "numa-binding" in text and "NCCL_IB_HCA" in text and "CUDA_DEVICE_ORDER=PCI_BUS_ID" in text


def test_a_tiny_model_has_no_rows_of_nothing(tmp_path, capsys, home) -> None:
    (tmp_path / "model").mkdir()
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 512}
    config |= {"num_hidden_layers": 2, "num_attention_heads": 4}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    (tmp_path / "dataset_info.json").write_text('{"d": {"file_name": "d.jsonl"}}')
    (tmp_path / "d.jsonl").write_text('{"a": 1}\n' * 96)
    run = tmp_path / "run.yaml"
    run.write_text(
        "nodes: [{name: a, address: 127.0.0.1}, {name: b, address: 127.0.0.1}]\nsame_host: true\ngpus: 1\n"
        "train: {llamafactory: {model_name_or_path: ./model, lora_target: all, use_cpu: true, bf16: true,\n"
        "  dataset: d, dataset_dir: ./, per_device_train_batch_size: 1, max_steps: 12}}\n"
    )
    text = shown(capsys, str(run))
    assert "0.00" not in text and "MiB" in text
    assert "12 steps, 24 samples (25 % of 96)" in text
    assert max(len(line) for line in text.splitlines()) < 250


def test_a_script_of_ones_own_is_looked_for(tmp_path, capsys, home) -> None:
    run = tmp_path / "run.yaml"
    run.write_text("nodes: [{name: a, address: 127.0.0.1}]\ntrain: {command: [train.py]}\n")
    assert main(["plan", str(run), "--json"]) == 1
    (missing, model) = json.loads(capsys.readouterr().out)["findings"]
    if missing["id"] == "model-config-unreadable":
        missing, model = model, missing
    assert (missing["id"], missing["verdict"]) == ("script-missing", "block")
    assert str(tmp_path / "train.py") in missing["saw"]
    assert (model["id"], model["verdict"]) == ("model-config-unreadable", "note")
    (tmp_path / "train.py").write_text("")
    assert main(["plan", str(run)]) == 0
    assert "script-missing" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--price", "0"), ("--price", "nan"), ("--samples", "-3")])
def test_prices_and_sizes_are_numbers(capsys, home, words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["plan", SEEDS, *words])


def test_the_page_shows_what_is_printed(capsys, home) -> None:
    page = (ROOT / "docs" / "plan.md").read_text()
    block = page.split("```\nrun        ")[1].split("```")[0]
    printed = shown(capsys, SEEDS, "--samples", "5437649").splitlines()
    for line in ("run        " + block).splitlines():
        assert line in printed, line
