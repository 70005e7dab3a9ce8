"""Logs that are a list of errors about single items, errors that a user's Ctrl-C or a later run followed, and errors
that say more by what raised them than by their words."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from tests.diagnose.test_earlier_runs import WORK, raised, told
from tests.diagnose.test_survived_errors import is_healthy

BIRDS = ("owl", "finch", "heron", "crane", "stork", "plover", "dunlin", "avocet")
NO_WINGS = "".join(f"Error processing bird {name}: the wings have no area\n" for name in BIRDS)


def at(second: int, text: str) -> str:
    return f"2026-11-20 10:{second // 60:02}:{second % 60:02},000 - ERROR - {text}\n"


# ---- lists of errors ----


def test_a_log_of_nothing_but_errors_about_items_shows_no_end() -> None:
    assert is_healthy(NO_WINGS * 4)
    assert not is_healthy(
        "reading the archive\n" * 30 + "Error processing bird owl: the wings have no area\n"
    )


def test_another_error_at_the_end_of_such_a_list_may_have_ended_the_program() -> None:
    last = "Error: no dataset has a column with wings\n"
    assert told(NO_WINGS * 3 + last).cause != UNPROVEN


def test_the_same_error_at_other_times_was_survived_if_the_program_went_on() -> None:
    lost = "Error loading model: [Errno 2] No such file or directory: '../m/owl.safetensors'"
    works = "".join(f"2026-11-20 10:05:{n:02},000 - INFO - model loaded successfully\n" for n in range(9))
    assert is_healthy("".join(at(10 * n, lost) for n in range(6)) + works)
    assert not is_healthy("".join(at(0, lost) for n in range(6)) + works[:160])
    assert not is_healthy("".join(at(10 * n, lost) for n in range(6)))


def test_the_statement_below_a_warning_of_python_is_no_error() -> None:
    """It has the word `nan`."""
    warned = (
        "/r/net.py:7: UserWarning: use another copy of this tensor\n  x = torch.tensor(torch.nan_to_num(y))\n"
    )
    text = (warned * 40 + raised("AttributeError: 'NoneType' object has no attribute 'wings'")) * 3
    assert is_healthy(text + warned * 20)
    assert not is_healthy(text)


def test_a_count_that_came_to_its_end() -> None:
    lost = "OpenAIError: Bad gateway 502\n"
    counted = "".join(f"{n}/60 completed\n" for n in range(30, 61))
    assert is_healthy(f"28/60 completed\n29/60 completed\n{lost}{counted}")
    assert not is_healthy(f"28/60 completed\n{lost}29/60 completed\n")


# ---- Ctrl-C ----

WORKS = 'File "/r/main.py", line 9, in step'
CTRL_C = raised("KeyboardInterrupt", WORKS)


def test_what_a_program_was_handling_when_its_user_ended_it_is_no_cause() -> None:
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    before = raised("TypeError: getresponse() got an unexpected keyword argument 'buffering'")
    assert told(WORK + before + chained + CTRL_C).cause == "cancelled-by-user"
    assert told(WORK + before).cause == "version-drift-transformers-peft"


def test_who_interrupts_a_program_that_works_does_not_do_so_because_of_an_earlier_error() -> None:
    before = raised("AssertionError: wings") + WORK[: 46 * 40]
    assert told(before + CTRL_C).cause == "cancelled-by-user"
    waits = raised("KeyboardInterrupt", 'File "/usr/lib/python3.11/threading.py", line 1116, in join')
    assert told(before + waits).cause == "rank-crashed-first"


def test_caffe_says_that_it_was_interrupted() -> None:
    steps = "".join(f"I0610 15:28:4{n}.46 28 solver.cpp:244] Iteration {n}, loss = 3.8\n" for n in range(9))
    assert (
        told(f"{steps}I0610 15:28:49.6 28 solver.cpp:301] Optimization stopped early.\n").cause
        == "cancelled-by-user"
    )


# ---- what raised it ----


def test_a_program_that_python_could_not_start_is_missing() -> None:
    frame = 'File "/usr/lib/python3.11/subprocess.py", line 1955, in _execute_child'
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '{}'"
    assert told(raised(missing.format("latex"), frame)).cause == "missing-system-tool"
    assert told(raised(missing.format("/srv/owls"), frame)).cause != "missing-system-tool"
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


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for Bird", "rank-crashed-first"),
        ("pydantic_core._pydantic_core.ValidationError: 2 validation errors for TrainConfig", "wrong-arguments"),
        ("openai.AuthenticationError: Error code: 401 - incorrect API key", "rank-crashed-first"),
        ("openai.APIConnectionError: Connection error.", "inference-server-failed"),
        ("TypeError: main() missing 1 required positional argument: 'wings'", "rank-crashed-first"),
        ("TypeError: main() got an unexpected keyword argument 'wings'", "rank-crashed-first"),
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
    assert told(2 * (head + row.format("0.1"))).cause != "loss-nan-fp16-overflow"


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
        ("pymysql.err.OperationalError: (2003, \"Can't connect to MySQL server\")\n", "rank-crashed-first"),
        (f"{WORK}======== 1 failed, 159 passed, 5 skipped in 57.91s ========\n", "rank-crashed-first"),
        (f"{WORK}======== 160 passed, 5 skipped in 57.91s ========\n", UNPROVEN),
        ("RuntimeError: no PyTorch package was found for the export\n", "missing-python-module"),
    ],
)  # fmt: skip
def test_words_that_tell_a_cause(text: str, cause: str) -> None:
    assert told(text).cause == cause


def test_a_function_with_other_arguments_is_the_programs_if_no_library_is_seen() -> None:
    error = "TypeError: custom_loss() takes from 5 to 10 positional arguments but 12 were given"
    assert told(raised(error)).cause == "rank-crashed-first"
    library = 'File "/v/lib/python3.11/site-packages/owls/wings.py", line 7, in fly'
    assert told(raised(error, library)).cause == "version-drift-transformers-peft"
