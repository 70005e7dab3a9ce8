"""Exceptions that stand inside a line: logged, quoted, in a heading; and those that somebody handled."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.quotes import MENTIONED, NO, SAID, inside

CHECKPOINT, FORMAT, CRASHED = "checkpoint-corrupt-resume-fail", "dataset-format-error", "rank-crashed-first"
TEXT = "ValueError: `mixing_ratio` must be positive"

QUOTES = [
    "ERROR: {}",
    "ERROR:root:{}",
    "[2026-05-01 10:00:00,123] [ERROR] [train.py:12:main] {}",
    "2026-05-01 10:00:00 ERROR train - training failed: {}",
    "E       {}",
    "    {}",
    "`{}`",
    "**{}**",
    'I get "{}" after an update',
    "[Bug] {}",
    "│ {} │",
    "An error occurred: {}",
    "raise ValueError( {}",
    "ValueError('`mixing_ratio` must be positive')",
]


@pytest.mark.parametrize("form", QUOTES)
def test_a_line_that_quotes_an_exception_says_what_the_exception_says(form):
    assert inside(form.format(TEXT)) == (SAID, TEXT)
    found = diagnose(parse(f"{form.format(TEXT)}\n", "x.log"))
    assert (found.cause, found.confidence) == ("wrong-arguments", "likely")


@pytest.mark.parametrize(
    "form",
    [
        "WARNING: {}",
        "2026-05-01 10:00:00 INFO train - {}",
        "ignored an error: {}",
        "retrying after an error: {}",
        "raise ValueError('the ratio must be positive')",
        "    except ValueError: pass  # {}",
        "if you see {}, the ratio is wrong",
    ],
)
def test_a_line_about_one_that_was_handled_says_nothing(form):
    assert inside(form.format(TEXT))[0] == NO
    assert diagnose(parse(f"{form.format(TEXT)}\n", "x.log")).cause == "unproven"


def test_a_pattern_knows_it_too_and_steps_disprove_it():
    line = "ERROR:root:RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB\n"
    assert diagnose(parse(line, "x.log")).cause == "cuda-oom"
    assert diagnose(parse(f"ERROR: {TEXT}\n" + "step 3 loss 1\n" * 12, "x.log")).cause == "benign-noise"


def test_a_line_that_only_mentions_one_counts_in_a_short_text():
    line = f"train halfway {TEXT}\n"
    assert inside(line.strip()) == (MENTIONED, TEXT)
    assert diagnose(parse(line, "x.log")).cause == "wrong-arguments"
    assert diagnose(parse(line + "a line\n" * 39, "x.log")).cause == "wrong-arguments"
    assert diagnose(parse("a line\n" * 40 + line, "x.log")).cause == "unproven"


FRAMES = '[rank3]:   File "/u/train.py", line 8, in main\n[rank3]:   File "{}", line 9, in {}\n'


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        (FRAMES.format("/u/model.py", "forward"), "rank-crashed-first", 3),
        (FRAMES.format("/env/datasets/arrow_dataset.py", "map"), "rank-crashed-first", 3),
        (FRAMES.format("/e/megatron/checkpointing.py", "load_checkpoint"), "rank-crashed-first", 3),
        (FRAMES.format("/u/a.py", "f") + "[rank3]: a line\n" * 9, "unproven", None),
        (FRAMES.format("/u/a.py", "f") + "[rank3]: step 3 loss 1\n", "benign-noise", None),
        (FRAMES.format("/e/torch/distributed/elastic/agent.py", "run"), "unproven", None),
        (FRAMES.format("/e/torch/distributed/distributed_c10d.py", "all_reduce"), "unproven", None),
        (f"IndexError{' ' * 16}Traceback (most recent call last)\n\nFile a.py:3\n", "rank-crashed-first", None),
    ],
)  # fmt: skip
def test_a_traceback_whose_exception_was_cut_off_names_its_rank_and_place(text, cause, rank):
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == (cause, rank)


WORDS = [
    ("FSDP cannot be used with this model", "fsdp-setup-error"),
    ("training of the tokenizer fails", "tokenizer-setup-error"),
    ("[Bug] the names in the schema are not the same", "dataset-format-error"),
    ("2026-05-01 10:00:00 ERROR saver - the state_dict is invalid", "checkpoint-corrupt-resume-fail"),
    ("the training crashes with undefined symbol", "binary-extension-mismatch"),
    ("MisconfigurationException in the second run", "wrong-arguments"),
    ("an error in the second layer if tp>1", "parallel-layout-error"),
    ("the chat_template is there, but not recognized as one", "tokenizer-setup-error"),
    ("bf16 of half the layers causes NaN loss", "loss-nan-fp16-overflow"),
    ("ValidationError: 2 validation errors for Config", "wrong-arguments"),
    ("UserWarning of a/hydra/_internal/b.py: hydra.cc is missing", "unproven"),
    ("Undefined symbol: _ZN3abc", "binary-extension-mismatch"),
    ("Issue with the tokenizer on a config of mine", "tokenizer-setup-error"),
    ("ValueError: 8 does not fit the target (4) of train_size", "rank-crashed-first"),
    ("the drawer is invalid", "unproven"),
    ("the train.json is invalid", "dataset-format-error"),
    ("deepspeed-toy error at the end", "unproven"),
    ("an IndexError at the end of the epoch", CRASHED),
    ("an OSError at the end of the epoch", "unproven"),
    ("Retrying after an IndexError", "unproven"),
    ("WARNING: FSDP cannot be used with this model", "unproven"),
    ("if FSDP cannot be used with this model, stop", "unproven"),
    ("FSDP is used with this model", "unproven"),
    ("`mixing` must be set if the data is streamed", "wrong-arguments"),
    ("my_option=3 is not supported by this trainer", "wrong-arguments"),
    ("drawer invalid", "unproven"),
    ("Unknown kl_method: abc", "wrong-arguments"),
    ("Please install datasets to do so", "missing-python-module"),
    ("drawer must fit", "unproven"),
    ("No such file or directory: '/m/weights/detector.pt'", "tokenizer-or-model-file-missing"),
    ("CPU training not allowed", "no-nvidia-driver"),
    ("'QwenModel' object has no attribute 'layers'", "version-drift-transformers-peft"),
    ("shapes (3 and 4) cannot be multiplied", CRASHED),
    ("Labels MUST be integers, but got 0.5", "dataset-format-error"),
    ("mixing 'q' is wrong, valid choices: fsdp, deepspeed, tokenizer", "unproven"),
    ("import torch  # fails", "unproven"),
    ("from tokenizers import Error, Missing", "unproven"),
]


TITLES = [
    ("# FSDP cannot be used with this model", "fsdp-setup-error"),
    ("[turn 0, continued]\n# FSDP cannot be used with this model", "fsdp-setup-error"),
    ("a\nb\n# FSDP cannot be used with this model", "fsdp-setup-error"),
    ("a\nb\nc\n# FSDP cannot be used with this model", "benign-noise"),
    ("# ValueError: FSDP cannot be used with this model", "fsdp-setup-error"),
    ("# How the model is trained", "benign-noise"),
    ("# print(FSDP is wrong)", "benign-noise"),
]


@pytest.mark.parametrize(("title", "cause"), TITLES)
def test_what_a_title_says_is_said_of_the_whole_text(title, cause):
    """The steps below it came first: who asks why a run failed writes the title at the end."""
    text = f"{title}\n\n" + "".join(f"step {n} loss 2.5\n" for n in range(20))
    assert diagnose(parse(text, "x.log")).cause == cause


def test_the_title_tells_the_subject_of_a_lost_connection():
    lost = "ProtocolError: ('Connection aborted.', RemoteDisconnected('closed'))\n"
    assert diagnose(parse(f"# Neptune fails in the night\n\n{lost}", "x.log")).cause == "tracker-unreachable"
    assert diagnose(parse(f"# It fails in the night\n\n{lost}", "x.log")).cause != "tracker-unreachable"


@pytest.mark.parametrize(("line", "cause"), WORDS)
def test_a_text_that_only_says_in_words_what_failed(line, cause):
    found = diagnose(parse(f"{line}\n", "x.log"))
    assert (found.cause, found.confidence) == (cause, "unproven" if cause == "unproven" else "likely")
    assert cause == "unproven" or line.rpartition(" - ")[2] in found.evidence[0]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("a line\n" * 24 + "FSDP cannot be used\n", "unproven"),
        ("a line\n" * 99 + "[ERROR] FSDP cannot be used\n" + "a line\n" * 40, "fsdp-setup-error"),
        ("a line\n" * 99 + "[ERROR] FSDP cannot be used\n" + "a line\n" * 41, "unproven"),
        ("FSDP cannot be used\nstep 3 loss 1\n", "benign-noise"),
        ("# A\n## B\nFSDP cannot be used\n## C\n## D\n", "fsdp-setup-error"),
        ("# A\n## B\nFSDP cannot be used\n## C\n## D\n## E\n## F\n", "unproven"),
        ("a\nb\n`mixing` must be set if so\n", "wrong-arguments"),
        ("a\nb\nc\n`mixing` must be set if so\nd\n", "wrong-arguments"),
        ("FSDP cannot be used\n[ERROR] the tokenizer is missing\n", "tokenizer-setup-error"),
        ("an IndexError\nFSDP cannot be used\n", "fsdp-setup-error"),
        ("a line\n" * 24 + "an IndexError at the end\n", "unproven"),
        ("FSDP cannot be used\nValueError: 3\n", "rank-crashed-first"),
        ("FSDP cannot be used\nRuntimeError: CUDA out of memory. Tried to allocate 3 GiB\n", "cuda-oom"),
    ],
)
def test_words_count_near_the_end_or_in_a_short_text_and_only_if_nothing_else_does(text, cause):
    assert diagnose(parse(text, "x.log")).cause == cause


def test_the_words_before_an_exception_and_the_rest_of_its_message_tell_its_subject():
    assert diagnose(parse("Cannot load the checkpoint: KeyError: 'a'\n", "x.log")).cause == CHECKPOINT
    text = (
        'Traceback (most recent call last):\n  File "/u/a.py", line 1, in f\nValueError: wrong:\n  {}\nbye\n'
    )
    assert diagnose(parse(text.format("the checkpoint is missing"), "x.log")).cause == CHECKPOINT
    assert diagnose(parse(text.format("the checkpoint"), "x.log")).cause == "rank-crashed-first"


def test_an_exception_of_cpp_that_nobody_caught_is_a_crash():
    text = "terminate called after throwing an instance of 'x::Bad'\n  what():  {}\n"
    assert diagnose(parse(text.format("the sky fell"), "x.log")).evidence[0] == "what(): the sky fell"
    assert diagnose(parse(text.format("CUDA error: out of memory"), "x.log")).cause == "cuda-oom"


RICH = "│ {}:{} in {:<20} │\n│                    │\n│   3   x = 1        │\n│ ❱ 4   x.y          │\n"
IPYTHON = "File {}:{}, in {}(self, x)\n      3 x = 1\n----> 4 x.y\n\n"
OLD_IPYTHON = "{} in {}(x)\n      3 x = 1\n----> 4 x.y\n\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (RICH.format("/u/a.py", 8, "main") + RICH.format("~/e/datasets/arrow_dataset.py", 9, "map"), FORMAT),
        (
            IPYTHON.format("~/u/a.py", 8, "main")
            + IPYTHON.format("/e/datasets/arrow_dataset.py", 9, "D.map"),
            FORMAT,
        ),
        (OLD_IPYTHON.format("~/u/a.py", "main") + OLD_IPYTHON.format("/e/datasets/load/a.py", "map"), FORMAT),
        (RICH.format("/e/datasets/arrow_dataset.py", 9, "map") + RICH.format("/u/a.py", 8, "f"), CRASHED),
    ],
)
def test_the_frames_of_rich_and_ipython_tell_the_place(text, cause):
    assert diagnose(parse(text + "KeyError: 'a'\n", "x.log")).cause == cause
    assert diagnose(parse(text, "x.log")).cause == cause


def test_ipython_names_the_exception_and_shows_much_of_the_source():
    text = "OSError" + " " * 30 + "Traceback (most recent call last)\n" + "File a.py:3\n"
    frame = "File ~/e/datasets/arrow_dataset.py:9, in D.map(self)\n" + "      3 x\n" * 12
    found = diagnose(parse(text + frame, "x.log"))
    assert (found.cause, found.evidence[0]) == (FORMAT, "OSError")


@pytest.mark.parametrize(
    ("frames", "cause"),
    [
        ((("<frozen runpy>", "run"), ("/u/a.py", "f")), CRASHED),
        ((("/u/bin/tool", "<module>"), ("/u/a.py", "f")), CRASHED),
        ((("/u/bin/torchrun", "<module>"), ("/e/torch/distributed/run.py", "main")), "unproven"),
        ((("/u/a.py", "f"), ("/e/lib/python3.11/runpy.py", "run")), "unproven"),
        (
            (
                ("/e/torch/distributed/elastic/multiprocessing/errors/__init__.py", "wrapper"),
                ("/u/a.py", "f"),
            ),
            CRASHED,
        ),
        ((("/u/a.py", "f"), ("/e/torch/__init__.py", "__call__")), "triton-or-compile-error"),
    ],
)
def test_a_launchers_frames_count_only_where_its_program_ended(frames, cause):
    text = "".join(f'  File "{file}", line 3, in {name}\n' for file, name in frames)
    assert diagnose(parse("Traceback (most recent call last):\n" + text, "x.log")).cause == cause


def test_the_first_words_of_a_short_text_name_what_a_cut_traceback_does_not():
    frame = '  File "/u/a.py", line 1, in f\n'
    text = f"Traceback (most recent call last):\n{frame}"
    assert diagnose(parse(f"FSDP cannot be used\n{text}", "x.log")).cause == "fsdp-setup-error"
    assert diagnose(parse(f"It fails\n{text}", "x.log")).cause == CRASHED
    assert diagnose(parse("a line\n" * 40 + f"FSDP cannot be used\n{text}{frame}", "x.log")).cause == CRASHED
