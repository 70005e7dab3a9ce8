"""The installed LLaMA-Factory, transformers and DeepSpeed read configurations for a trial."""

from __future__ import annotations

import json
import sys

import pytest

from allranks.node import facts
from allranks.node.facts import imports

pytestmark = pytest.mark.training

BASE = (
    *("--model_name_or_path=/no/such/model", "--dataset=data", "--template=default", "--do_train=true"),
    *("--stage=sft", "--finetuning_type=lora", "--bf16=true", "--report_to=none"),
)
FILLED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "bf16": {"enabled": "auto"},
}
ZERO3 = {**FILLED, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}}
ZERO2 = {**FILLED, "zero_optimization": {"stage": 2}}


def question(*words, deepspeed=None, **changes):
    asked = {
        "kind": "llamafactory",
        "words": [*BASE, *words],
        "deepspeed": deepspeed,
        "world_size": 6,
        "cpu": False,
    }
    return {**asked, **changes}


def of_yaml(text="", deepspeed=None, **changes):
    """The same arguments as LLaMA-Factory's YAML."""
    base = "".join(word[2:].replace("=", ": ", 1) + "\n" for word in BASE)
    asked = {
        "kind": "llamafactory",
        "yaml": base + text,
        "deepspeed": deepspeed,
        "world_size": 6,
        "cpu": False,
    }
    return {**asked, **changes}


def alone(deepspeed, **changes):
    return {"kind": "deepspeed", "deepspeed": deepspeed, "world_size": 6, **changes}


ACCEPTED = {
    "no deepspeed": question(),
    "zero3": question(deepspeed=ZERO3),
    "on processors": question("--use_cpu=true", deepspeed=ZERO3, cpu=True),
    "pure_bf16 under zero2": question("--pure_bf16=true", deepspeed=ZERO2),
    "a script's": alone({"train_batch_size": 12}),
    "a script's that transformers fills": alone(
        {
            "train_batch_size": "auto",
            "train_micro_batch_size_per_gpu": "auto",
            "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
        },
        filled=True,
    ),
    "auto of a section": alone({"train_batch_size": 12, "zero_optimization": {"reduce_bucket_size": "auto"}}),
    "evaluation": question("--eval_strategy=steps", "--eval_steps=10", "--val_size=0.1"),
    "template": question("--template=llama3"),
    "a yaml": of_yaml(deepspeed=ZERO3),
    "a yaml's choice": of_yaml("quantization_method: bitsandbytes\n"),
}
REFUSED = {
    "unknown argument": (question("--lora_rnak=8"), "arguments", "--lora_rnak=8"),
    "value out of range": (question("--lr_scheduler_type=cosin"), "arguments", "invalid choice: 'cosin'"),
    "no number": (question("--learning_rate=1e-4.5"), "arguments", "invalid float value: '1e-4.5'"),
    "a yaml's unknown argument": (of_yaml("lora_rnak: 8\n"), "arguments", "lora_rnak"),
    "a yaml's empty key": (of_yaml("image_max_pixels:\n"), "arguments", "'NoneType'"),
    "plot_loss": (question("--plot_loss=true"), "arguments", "matplotlib"),
    "pure_bf16": (question("--pure_bf16=true", deepspeed=ZERO3), "arguments", "pure_bf16"),
    "pissa": (question("--pissa_init=true", deepspeed=ZERO3), "arguments", "PiSSA"),
    "generate": (
        question("--predict_with_generate=true", "--val_size=0.1", deepspeed=ZERO3),
        "arguments",
        "incompatible with DeepSpeed ZeRO-3",
    ),
    "template of a fork": (question("--template=moss"), "template", "Template moss does not exist"),
    "evaluation of nothing": (
        question("--eval_strategy=steps", "--eval_steps=10", deepspeed=ZERO3),
        "arguments",
        "eval_dataset",
    ),
    "auto that nobody fills": (
        alone({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}),
        "deepspeed",
        "'str'",
    ),
    "a filled script's": (
        alone({"train_batch_size": "auto", "zero_optimization": {"staeg": 1}}, filled=True),
        "deepspeed",
        "Extra inputs are not permitted",
    ),
    "mixture_of_depths": (question("--mixture_of_depths=convert"), "arguments", "mixture-of-depth"),
    "optimizer's package": (question("--optim=paged_adamw_8bit"), "optimizer", "bitsandbytes"),
    "quantizer's package": (question("--quantization_bit=4"), "quantization", "bitsandbytes"),
    "logger's package": (question("--report_to=wandb"), "report_to", "wandb"),
    "key of a section": (
        question(deepspeed={**ZERO3, "zero_optimization": {"stage": 3, "staeg": 1}}),
        "deepspeed",
        "Extra inputs are not permitted",
    ),
    "no batch key": (
        question(deepspeed={"zero_optimization": {"stage": 3}}),
        "deepspeed",
        "train_micro_batch_size_per_gpu needs to be provided",
    ),
    "contradiction": (
        question(deepspeed={**ZERO3, "gradient_accumulation_steps": 4}),
        "deepspeed",
        "mismatch TrainingArguments",
    ),
    "optimizer": (
        question(deepspeed={**ZERO3, "optimizer": {"type": "Adan"}}),
        "deepspeed optimizer",
        "Adan",
    ),
    "schedule": (
        question(deepspeed={**ZERO3, "scheduler": {"type": "Cosin"}}),
        "deepspeed scheduler",
        "Cosin",
    ),
    "batch of other ranks": (
        alone(
            {"train_batch_size": 12, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}
        ),
        "deepspeed",
        "12 != 4 * 1 * 6",
    ),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """All questions in one Python, as a node asks its own."""
    from subprocess import run

    here = tmp_path_factory.mktemp("here")
    quantized = here / "quantized"
    quantized.mkdir()
    (quantized / "config.json").write_text(
        json.dumps({"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4}})
    )
    own = question(f"--model_name_or_path={quantized}", deepspeed=ZERO3)
    asked = {**ACCEPTED, **{name: one for name, (one, *_) in REFUSED.items()}, "quantized": own}
    for kind in ("llama", "mamba"):
        (here / kind).mkdir()
        (here / kind / "config.json").write_text(json.dumps({"model_type": kind}))
        asked[kind] = question(f"--model_name_or_path={here / kind}", "--shift_attn=true")
    asked["no model"] = question("--shift_attn=true")
    script = (
        imports.TRIAL + "\nimport json\nprint('ANSWERS' + json.dumps(answers(json.load(sys.stdin), 240)))"
    )
    done = run(
        [sys.executable, "-c", script],
        input=json.dumps(list(asked.values())),
        capture_output=True,
        text=True,
        cwd=here,
        timeout=280,
        check=True,
    )
    row = next(row for row in done.stdout.splitlines() if row.startswith("ANSWERS"))
    assert sorted(path.name for path in here.iterdir()) == ["llama", "mamba", "quantized"], (
        "nothing is left in the working folder"
    )
    return dict(zip(asked, json.loads(row[len("ANSWERS") :]), strict=True))


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_a_rank_would_take_is_accepted(told, name):
    assert told[name].get("refused") is False, told[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_end_a_rank_is_refused_in_the_libraries_own_words(told, name):
    _, step, said = REFUSED[name]
    answer = told[name]
    assert (answer.get("refused"), answer.get("step")) == (True, step) and said in answer["said"], answer


def test_a_refusal_names_the_library_that_was_asked(told):
    names = ("plot_loss", "contradiction", "key of a section", "optimizer's package")
    assert [told[name]["library"] for name in names] == [
        "llamafactory",
        "transformers",
        "deepspeed",
        "transformers",
    ]


def test_a_base_with_its_own_quantization_is_refused_under_zero3(told):
    assert (
        "incompatible with PTQ-quantized" in told["quantized"]["said"]
        and told["quantized"]["step"] == "quantization"
    )


def test_what_only_some_models_need_is_asked_about_the_runs_own(told):
    assert told["llama"]["step"] == "shift_attn" and "transformers>=4" in told["llama"]["said"]
    assert told["mamba"]["refused"] is False, "LLaMA-Factory warns, and goes on without it"
    assert told["no model"]["refused"] is False and "shift_attn" in told["no model"]["skipped"]


def test_the_answer_comes_with_the_imports_and_is_kept_until_the_question_changes(
    home, tmp_path, monkeypatch
):
    request = {
        "families": ["imports"],
        "python": sys.executable,
        "imports": ["torch"],
        "configuration": {**alone({"train_batch_size": 12}), "digest": "d"},
    }
    monkeypatch.chdir(tmp_path)
    first = facts.collect(request).values["imports"]
    assert first["configuration"] == {"digest": "d", "answer": {"refused": False, "skipped": {}}}
    assert first["cached"] is False
    asked = []
    monkeypatch.setattr(
        imports, "really", lambda *words: asked.append(words) or {"configuration": {"refused": True}}
    )
    assert (
        imports.imported(request, ["torch"])["configuration"] == first["configuration"]["answer"]
        and not asked
    )
    other = {**request, "configuration": alone({"train_batch_size": "auto"})}
    assert imports.imported(other, ["torch"]) == {
        **imports.imported(request, ["torch"]),
        "configuration": {"refused": True},
    }
    assert asked[0][1] == [], "what was imported once is not imported again"
    assert [path.name for path in tmp_path.iterdir()] == [home.name], "nothing is left where it was asked"


def test_libraries_that_refuse_everything_are_unknown_and_not_a_refusal(home, tmp_path):
    """A DeepSpeed of other insides: what it says is about the trial."""
    package = tmp_path / "site" / "deepspeed" / "runtime"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "config.py").write_text(
        "class DeepSpeedConfig:\n    def __init__(self, config):\n        raise ValueError('in another way')\n"
        "dist = None\n"
    )
    request = {
        "python": sys.executable,
        "imports": ["json"],
        "env": {"PYTHONPATH": str(tmp_path / "site")},
        "configuration": {**alone({"train_batch_size": 12}), "digest": "d"},
    }
    answer = imports.imported(request, ["json"])["configuration"]
    assert (
        "refused" not in answer
        and "simplest configuration" in answer["unknown"]
        and "another way" in answer["unknown"]
    )
