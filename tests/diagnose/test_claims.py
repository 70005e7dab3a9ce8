"""An exception that no pattern knows: the code that raised it, or what it complains of, tells the cause."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.claims import place_of

USER = ("/u/train.py", "main")
MODULE = ("/env/lib/python3.11/site-packages/torch/nn/modules/module.py", "_call_impl")
STDLIB = ("/usr/lib/python3.11/json/decoder.py", "raw_decode")
DATASETS = ("/env/lib/python3.11/site-packages/datasets/arrow_dataset.py", "_map_single")
RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"
WEB = ("/env/lib/python3.11/site-packages/urllib3/connectionpool.py", "urlopen")
FSDP = ("/env/lib/python3.11/site-packages/torch/distributed/fsdp/_init_utils.py", "_init_param_handle")


def traceback(error: str, *frames: tuple[str, str], rank: str = "") -> str:
    shown = [f'  File "{file}", line {n}, in {name}' for n, (file, name) in enumerate(frames, 3)]
    lines = ["Traceback (most recent call last):", *shown, error]
    return "".join(f"{rank}{line}\n" for line in lines)


PLACES = [
    ("KeyError: 'prompt'", (USER, DATASETS), "dataset-format-error"),
    ("ValueError: 3", (USER, DATASETS, STDLIB), "dataset-format-error"),
    ("KeyError: 'prompt'", (DATASETS, USER), "rank-crashed-first"),
    (
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        (USER, WEB, ("/usr/lib/ssl.py", "read")),
        "rank-crashed-first",
    ),
    ("ConnectionResetError: [Errno 104] Connection reset by peer", (USER,), "nccl-remote-process-exited"),
    ("RuntimeError: 3", (USER, FSDP), "fsdp-setup-error"),
    ("RuntimeError: 3", (USER, FSDP, USER, MODULE), "rank-crashed-first"),
    ("TypeError: 3", (USER, ("/e/deepspeed/runtime/zero/config.py", "get")), "deepspeed-config-mismatch"),
    ("OSError: 3", (USER, ("/e/deepspeed/ops/op_builder/builder.py", "load")), "deepspeed-op-build-failure"),
    (
        "KeyError: 3",
        (USER, ("/e/torch/distributed/checkpoint/planner.py", "f")),
        "distributed-checkpoint-mismatch",
    ),
    ("KeyError: 3", (USER, ("/e/my/train.py", "load_checkpoint")), "checkpoint-corrupt-resume-fail"),
    ("TypeError: 3", (USER, ("/e/wandb/sdk/wandb_run.py", "log")), "tracker-unreachable"),
    ("TypeError: 3", (USER, ("/e/huggingface_hub/hf_api.py", "f")), "hf-hub-offline-or-auth"),
    ("TypeError: 3", (USER, ("/e/jinja2/runtime.py", "f")), "tokenizer-setup-error"),
    ("TypeError: 3", (USER, ("/e/vllm/engine/llm_engine.py", "f")), "inference-server-failed"),
    ("TypeError: 3", (USER, ("/e/triton/compiler/compiler.py", "f")), "triton-or-compile-error"),
    ("TypeError: 3", (USER, ("/e/bitsandbytes/optim/optimizer.py", "f")), "quantized-training-unsupported"),
    ("AssertionError: 3", (USER, ("/e/megatron/core/parallel_state.py", "f")), "parallel-layout-error"),
    (
        "ValueError: 3",
        (USER, ("/e/transformers/integrations/deepspeed.py", "deepspeed_load_checkpoint")),
        "checkpoint-corrupt-resume-fail",
    ),
    ("AssertionError", (USER, ("/e/megatron/training/arguments.py", "f")), "wrong-arguments"),
    ("AssertionError: 3", (USER, ("/e/my/settings.py", "__post_init__")), "wrong-arguments"),
]


@pytest.mark.parametrize(("error", "frames", "cause"), PLACES)
def test_the_code_that_raised_it_tells_the_cause(error, frames, cause):
    found = diagnose(parse(traceback(error, *frames, rank="[rank2]: "), "x.log"))
    assert (found.cause, found.where.rank) == (cause, 2)
    assert found.confidence == ("certain" if cause == "rank-crashed-first" else "likely")
    assert f"in {frames[-1][1]}" in " ".join(found.evidence)


SUBJECTS = [
    ("ValueError: the mixing_ratio must be at least 0", "wrong-arguments"),
    ("ValueError: `mixing` cannot be used here", "wrong-arguments"),
    ("AssertionError: --mixing-ratio needs --mixing", "wrong-arguments"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/o/dataset.jsonl'",
        "dataset-file-missing-on-node",
    ),
    ("NotADirectoryError: [Errno 20] Not a directory: '/o/dataset.jsonl', it must be", "rank-crashed-first"),
    ("MisconfigurationException: the device should be another one", "wrong-arguments"),
    ("ValueError: Template x is not in the list of templates of the tokenizer", "tokenizer-setup-error"),
    ("ValueError: mixing_ratio 3", "rank-crashed-first"),
    ("NameError: name 'mixing_ratio' is not defined", "rank-crashed-first"),
    ("ValueError: both tensors must have the shape of hidden_states", "rank-crashed-first"),
    ("RuntimeError: The size of tensor a (8) must match the size of tensor b (9)", "rank-crashed-first"),
    ("ValueError: a dataset with an image column is required", "dataset-format-error"),
    ("ValueError: the tokenizer has no such token, please add it", "tokenizer-setup-error"),
    ("RuntimeError: DeepSpeed cannot be used with this optimizer", "deepspeed-config-mismatch"),
    ("ValueError: FSDP is not supported here", "fsdp-setup-error"),
    ("ValueError: a model in 4-bit cannot be trained so", "quantized-training-unsupported"),
    ("ValueError: batch 7 must be a multiple of the pipeline-parallel size", "parallel-layout-error"),
    ("ValueError: the checkpoint's state_dict is missing 3 keys", "checkpoint-corrupt-resume-fail"),
    ("ValueError: bf16 needs a newer GPU", "half-precision-unavailable"),
    (
        "RuntimeError: this needs a newer version of the library, at least 3.2",
        "version-drift-transformers-peft",
    ),
    ("ValueError: target_modules matches nothing, please look", "lora-target-not-found"),
    ("RuntimeError: unknown arguments ['--lora_ranks']", "wrong-arguments"),
    ("RuntimeError: Unsupported merge kind: 3. It should be one of: a, b", "wrong-arguments"),
    ("RuntimeError: please set --remote-path first", "wrong-arguments"),
    ("RuntimeError: the run folder already exists, but overwrite was not set", "wrong-arguments"),
    ("CUDA error: invalid argument", "unproven"),
    ("FileNotFoundError: adapter_config.json not found in /data/m", "tokenizer-or-model-file-missing"),
    ("RuntimeError: no .safetensors file in the folder of the base", "tokenizer-or-model-file-missing"),
    ("RuntimeError: the kernels are not installed", "missing-python-module"),
    ("RuntimeError: to do so, please install foo with pip install foo", "missing-python-module"),
    ("RuntimeError: this kernel needs sm_90", "cuda-arch-unsupported"),
    ("ValueError: this node has no available GPU", "no-nvidia-driver"),
    ("RuntimeError: CPU training is not allowed here", "no-nvidia-driver"),
    ("RuntimeError: the process group was not initialized", "launch-args-mismatch"),
    ("KeyError: the variable MASTER_ADDR is not set", "launch-args-mismatch"),
    ("AssertionError: 3 % 8 != 0, that is an error", "parallel-layout-error"),
    ("RuntimeError: foo must be >= 2.3.1 to do so", "version-drift-transformers-peft"),
    ("RuntimeError: foo must be >= 1", "rank-crashed-first"),
    ("RuntimeError: 7 image tokens and 8 image features do not match", "dataset-format-error"),
    ("RuntimeError: the pad_token_id has to be there", "tokenizer-setup-error"),
    ("RuntimeError: access to the model my/model is restricted", "hf-hub-offline-or-auth"),
    ("RuntimeError: all tensors must be on devices[0]: 0", "tensors-on-different-devices"),
    ("RuntimeError: the reward server is not there", "inference-server-failed"),
    ("RuntimeError: the pages of the KV cache are fewer than the tokens", "inference-server-failed"),
    ("NotImplementedError: Unknown reward method: 3", "wrong-arguments"),
    ("ValueError: this trainer does not support packing", "wrong-arguments"),
    ("AssertionError: packing cannot be combined with streaming", "wrong-arguments"),
    ("ValueError: sparse tensors are not supported here", "rank-crashed-first"),
    ("ValueError: path '/srv/data/shard-7.npy' does not exist", "dataset-file-missing-on-node"),
    ("RuntimeError: not enough GPU memory for the buffers", "cuda-oom"),
    ("RuntimeError: the loss contains a NaN", "loss-nan-fp16-overflow"),
    ("RuntimeError: this GPU does not support bfloat16", "half-precision-unavailable"),
    ("RuntimeError: the kernel only supports fp16 and bf16", "half-precision-unavailable"),
    ("RuntimeError: the optimizer states are missing for 3 ranks", "checkpoint-corrupt-resume-fail"),
    ("RuntimeError: AutoAWQ has been deprecated", "quantized-training-unsupported"),
]


@pytest.mark.parametrize(("line", "cause"), SUBJECTS)
def test_its_subject_tells_the_cause_also_without_a_traceback(line, cause):
    assert diagnose(parse(f"{line}\n", "x.log")).cause == cause
    assert diagnose(parse(traceback(line, USER), "x.log")).cause == cause


CLASSES = [
    ("jinja2.exceptions.TemplateError: 3", "tokenizer-setup-error"),
    ("vllm.v1.engine.exceptions.SomeError: 3", "inference-server-failed"),
    ("openai.InternalServerError: 3", "inference-server-failed"),
    ("huggingface_hub.errors.SomeError: 3", "hf-hub-offline-or-auth"),
    ("mypackage.errors.SomeError: 3", "rank-crashed-first"),
]


@pytest.mark.parametrize(("line", "cause"), CLASSES)
def test_the_module_of_its_class_tells_the_cause_also_without_a_traceback(line, cause):
    assert diagnose(parse(f"{line}\n", "x.log")).cause == cause
    assert diagnose(parse(traceback(line, USER), "x.log")).cause == cause


VLLM = ("/e/vllm/config/parallel.py", "f")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("ValueError: 40 heads must be divisible by 3", "parallel-layout-error"),
        ("ValueError: this kernel needs compute capability 9", "cuda-arch-unsupported"),
        ("ValueError: the samples are empty", "inference-server-failed"),
        ("ValueError: 3", "inference-server-failed"),
    ],
)
def test_in_code_that_serves_many_subjects_the_subject_may_say_more_than_the_place(line, cause):
    assert diagnose(parse(traceback(line, USER, VLLM), "x.log")).cause == cause


def test_the_command_that_a_launcher_repeats_is_no_subject():
    line = "Error: failed to run torchrun --nproc_per_node=4 --nnodes=2 a.py on gpu-7, is localhost: False, exception: "
    assert (
        diagnose(parse(line + "No authentication methods available\n", "x.log")).cause
        == "ssh-connection-failed"
    )
    assert diagnose(parse(line + "closed\n", "x.log")).cause == "rank-crashed-first"


def test_after_a_step_a_setting_is_not_blamed_since_it_was_the_same_before():
    line = "ValueError: `mixing` cannot be used here"
    steps = "".join(f"{{'loss': 2.{n}, 'epoch': 0.{n}}}\n" for n in range(5))
    assert diagnose(parse(steps + traceback(line, USER), "x.log")).cause == "rank-crashed-first"


def test_a_text_that_a_pattern_knows_is_not_claimed():
    text = traceback("OSError: [Errno 28] No space left on device", USER, DATASETS)
    assert diagnose(parse(text, "x.log")).cause == "disk-full-checkpoint"


def test_an_exception_whose_pattern_proves_too_little_is_still_an_exception():
    text = traceback("FileNotFoundError: '/srv/here' is a folder", USER)
    assert diagnose(parse(text, "x.log")).cause == "rank-crashed-first"


def test_frames_of_an_earlier_traceback_do_not_count():
    text = traceback("KeyError: 1", DATASETS).replace("KeyError: 1", "step 1 loss 2.0")
    assert diagnose(parse(text + "KeyError: 'prompt'\n", "x.log")).cause == "rank-crashed-first"
    assert place_of(['  File "<frozen runpy>", line 3, in run', "no frame"]) is None


STATEMENTS = [
    ("KeyError: 'rate'", "rate = args['rate']", "wrong-arguments"),
    ("KeyError: 'rate'", "rate = self.hparams['rate']", "wrong-arguments"),
    ("KeyError: 'rate'", "rate = kwargs['rate']", "rank-crashed-first"),
    ("KeyError: 'rate'", "rate = table['rate']", "rank-crashed-first"),
    ("KeyError: 'adam'", "adam.load_state_dict(kept['adam'])", "checkpoint-corrupt-resume-fail"),
    ("KeyError: 'answer'", "words = example['answer']", "dataset-format-error"),
    ("KeyError: 'edge'", "if args['rate'] < self.table[n]['edge']:", "rank-crashed-first"),
    ("KeyError: 'edge'", 'if args["rate"] < self.table[n]["edge"]:', "rank-crashed-first"),
    ("KeyError: 'edge'", 'if self.table["rate"] < args["edge"]:', "wrong-arguments"),
    ("KeyError: 'answer'", "words = batch[0]", "rank-crashed-first"),
    ("TypeError: 'NoneType' object is not subscriptable", "rate = cfg['rate']", "wrong-arguments"),
    ("RuntimeError: odd", "rate = cfg['rate']", "rank-crashed-first"),
    ("AssertionError", "assert heads % tp_size == 0", "parallel-layout-error"),
    ("AssertionError", "assert heads is table", "rank-crashed-first"),
]


@pytest.mark.parametrize(("error", "statement", "cause"), STATEMENTS)
@pytest.mark.parametrize("below", ["", "           ~~~~^^^^^^^^\n"])
def test_the_statement_that_lacks_a_key_tells_what_lacks_it(error, statement, cause, below):
    text = (
        f'Traceback (most recent call last):\n  File "a.py", line 3, in go\n    {statement}\n{below}{error}\n'
    )
    assert diagnose(parse(text, "x.log")).cause == cause


OWN = [
    ("AssertionError: the scale must be below 1", "/home/u/datasets/crops.py", "check_scale"),
    ("ValueError: Unknown gate swap", "/home/u/noise/dataset.py", "generate_circuit"),
    (
        "AssertionError: d_model (100) must be divisible by n_heads (3)",
        "/home/u/net/attention.py",
        "__init__",
    ),
    ("ValueError: the size of `grid_cells` is odd", "/home/u/net/mesh.py", "refine"),
    ("ValueError: gene_count=3 after the join", "/home/u/net/join.py", "validate_genes"),
    ("ConnectionError: could not connect to the database", "/home/u/net/store.py", "open_store"),
]


def cause_of(error: str, path: str, function: str, code: str) -> str:
    """The cause of an exception that this statement raised."""
    frame = f'  File "{path}", line 7, in {function}\n    {code}\n'
    return diagnose(parse(f"Traceback (most recent call last):\n{frame}{error}\n", "x.log")).cause


@pytest.mark.parametrize(("error", "path", "function"), OWN)
@pytest.mark.parametrize("word", ["raise", "assert"])
def test_what_the_users_code_raises_on_purpose_is_about_its_message_and_not_about_its_place(
    error, path, function, word
):
    assert cause_of(error, path, function, f"{word} something(x)") == "rank-crashed-first"


@pytest.mark.parametrize(
    ("error", "path", "cause"),
    [
        ("ValueError: CSV must contain column: label", "/home/u/prepare.py", "dataset-format-error"),
        (
            "ValueError: the checkpoint is damaged and cannot be loaded",
            "/h/u/a.py",
            "checkpoint-corrupt-resume-fail",
        ),
        ("ValueError: the dataset is empty after filtering", "/home/u/prepare.py", "dataset-format-error"),
        ("RuntimeError: the GPU does not have enough memory for this batch", "/home/u/a.py", "cuda-oom"),
        ("ValueError: Unknown option --fast, choose from slow, slower", "/home/u/run.py", "wrong-arguments"),
        (
            "AssertionError: 10 rows are not divisible by world_size (4)",
            "/home/u/split.py",
            "parallel-layout-error",
        ),
    ],
)
def test_a_clear_message_of_the_users_code_tells_the_cause(error, path, cause):
    assert cause_of(error, path, "check", "raise ValueError(") == cause


@pytest.mark.parametrize(
    ("code", "cause"), [("raise ValueError(", "rank-crashed-first"), ("x = y / z", "dataset-format-error")]
)
def test_in_a_library_the_place_counts_less_than_what_it_raised_on_purpose(code, cause):
    path = "/v/site-packages/axolotl/utils/data/sft.py"
    assert cause_of("ValueError: the sizes of a and b differ", path, "check", code) == cause
