"""Exceptions whose cause follows from what raised them, and words of other programs that tell one."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from tests.diagnose.test_earlier_runs import WORK, raised, told

# ---- what raised it ----


def test_a_program_that_python_could_not_start_is_missing() -> None:
    frame = 'File "/usr/lib/python3.11/subprocess.py", line 1955, in _execute_child'
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '{}'"
    assert told(raised(missing.format("latex"), frame)).cause == "missing-system-tool"
    for name in ("/srv/owls", "python eval.py --all"):
        assert told(raised(missing.format(name), frame)).cause != "missing-system-tool"
    assert told(raised(missing.format("latex"))).cause != "missing-system-tool"


def test_a_file_that_a_program_wants_to_write_is_no_missing_data() -> None:
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '/d/dataset/owls/wings.npy'"
    assert told(raised(missing)).cause == "dataset-file-missing-on-node"
    for frame, code in (
        ('File "/v/lib/python3.11/site-packages/nib/images.py", line 3, in to_file_map', ""),
        ('File "/r/main.py", line 7, in go', "np.save(path, wings)"),
        ('File "/r/main.py", line 7, in go', "with open(path, 'w') as file:"),
    ):
        assert told(raised(missing, frame, code)).cause == "rank-crashed-first"
    for frame, code in (
        ('File "/r/main.py", line 7, in go', "for line in open(cfg.data['a']):"),
        ('File "/r/main.py", line 7, in save_features', "wings = np.load(path)"),
    ):
        assert told(raised(missing, frame, code)).cause == "dataset-file-missing-on-node"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for Bird", "rank-crashed-first"),
        ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for ClinicalNote", "rank-crashed-first"),
        ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for TrainConfig", "wrong-arguments"),
        ("openai.AuthenticationError: Error code: 401 - incorrect API key", "rank-crashed-first"),
        ("openai.APIConnectionError: Connection error.", "inference-server-failed"),
        ("TypeError: main() missing 1 required positional argument: 'wings'", "rank-crashed-first"),
        ("TypeError: main() got an unexpected keyword argument 'wings'", "rank-crashed-first"),
        ("TypeError: train() got an unexpected keyword argument 'wings'", "version-drift-transformers-peft"),
        ("TypeError: Owl.__init__() missing 1 required argument: 'wings'", "version-drift-transformers-peft"),
        ("NotImplementedError: Could not run 'aten::owl' with arguments from the 'MPS' backend", "rank-crashed-first"),
        ("Error: Could not run 'o::nms' with arguments from the 'X' backend", "binary-extension-mismatch"),
    ],
)  # fmt: skip
def test_whose_function_or_value_it_was(error: str, cause: str) -> None:
    frame = 'File "/v/lib/python3.11/site-packages/openai/_client.py", line 3, in post'
    assert told(raised(error, frame) if error.startswith("openai") else f"{error}\n").cause == cause


def test_a_row_of_losses_that_are_no_numbers() -> None:
    head = "      Epoch    GPU_mem   box_loss   seg_loss  Instances       Size\n"
    row = "    120/500        34G     0.6431        {}        119       1024: 100%|██████████| 9/9 [05:39<00:00,  4.\n"
    assert told(2 * (head + row.format("nan"))).cause == "loss-nan-fp16-overflow"
    assert told(2 * (head + row.format("8.4e-05"))).cause != "loss-nan-fp16-overflow"


def test_how_pals_tells_the_ends_of_ranks() -> None:
    found = told("gnode4: rank 2 exited with code 139\ngnode4: rank 1 died from signal 15\n")
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_a_network_that_caffe_prints_makes_no_document() -> None:
    layers = "".join(f'layer {{\n  name: "owl{n}"\n  type: "Convolution"\n}}\n' for n in range(40))
    failed = "F0819 22:49:16.799420 14376 io.cpp:54] Check failed: fd != -1 (-1 vs. -1) File not found: a.caffemodel\n"
    assert (
        told(layers + failed + "".join(f"    @     0x7fa7721b{n:04x}  owl()\n" for n in range(16))).cause
        != UNPROVEN
    )


# ---- what a library or another program tells ----


def test_jax_goes_on_without_a_plugin_that_it_could_not_start() -> None:
    head = (
        "ERROR:2026-01-21 02:34:37,763:jax._src.xla_bridge:477: Jax plugin configuration error: Exception\n"
    )
    plugin = head + raised("RuntimeError: jaxlib/cuda/versions_helpers.cc:113: operation cuInit(0) failed")
    assert told(f"{plugin}starting\n" + raised("ValueError: a parameter of the wings is missing")).cause == (
        "rank-crashed-first"
    )


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("train_loss: tensor(nan, device='cuda:0')\n" * 3, "loss-nan-fp16-overflow"),
        ("fairseq.nan_detector | Inf detected in output of layers.3, input max: 6.0\n", "loss-nan-fp16-overflow"),
        ("pydantic.errors.PydanticUserError: `@root_validator` needs an option\n", "version-drift-transformers-peft"),
        (raised("redis.exceptions.ConnectionError: Error 111 connecting to 10.0.0.1:6379."), "rank-crashed-first"),
        ("ld.so: object 'a' cannot be preloaded (wrong ELF class: ELFCLASS32): ignored.\n", UNPROVEN),
        ("OSError: /v/a.so: wrong ELF class: ELFCLASS32\n", "binary-extension-mismatch"),
        ("WARNING adapter.bin is not a safetensors file, skipping\n" + WORK, UNPROVEN),
        ("Trial table\n" + "   1/50   0.331   nan   0.52   12\n" * 5 + "best trial 2\n", UNPROVEN),
        (f"{WORK}======== 1 failed, 159 passed, 5 skipped in 57.91s ========\n", "rank-crashed-first"),
        (f"{WORK}======== 160 passed, 5 skipped in 57.91s ========\n", UNPROVEN),
        ("RuntimeError: no PyTorch package was found for the export\n", "missing-python-module"),
    ],
)  # fmt: skip
def test_words_that_tell_a_cause(text: str, cause: str) -> None:
    assert told(text).cause == cause


def test_a_function_with_other_arguments_is_the_programs_if_no_library_is_seen() -> None:
    error = "TypeError: custom_loss() takes from 5 to 10 positional arguments but 12 were given"
    own = 'File "/r/main.py", line 7, in go'
    assert told(raised(error, own, "loss = custom_loss(x, y)")).cause == "rank-crashed-first"
    assert (
        told(raised(error, own, "loss = owls.custom_loss(x, y)")).cause == "version-drift-transformers-peft"
    )
    library = 'File "/v/lib/python3.11/site-packages/owls/wings.py", line 7, in fly'
    assert told(raised(error, library, "custom_loss(x, y)")).cause == "version-drift-transformers-peft"
