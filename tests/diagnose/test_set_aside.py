"""Lines with words of a failure that report none, and lines with which programs close."""

from __future__ import annotations

import json

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import Diagnosis, Evidence, diagnose, parse
from allranks.diagnose.set_aside import is_set_aside, warns

WORK = "".join(f"loading part {chr(97 + n % 26)}{chr(97 + n // 26)} of the index\n" for n in range(120))
"""Lines of a program that works, and shows no steps."""


def told(text: str, name: str = "x.log") -> Diagnosis:
    return diagnose(parse(text, name))


# ---- what is set aside ----

IGNORED = [
    "Ignore import error when loading zoo.models.parrot: No module named 'featherlib'",
    "[2026-01-04 07:16:48 TP15] Ignore import error when loading zoo.models.owl: cannot import name 'OwlConfig' "
    "from 'transformers'",
    "cannot import 'wings'. Disabling its usage. Reason: /v/_wings.so: undefined symbol: _ZN5torch3jitE",
]  # fmt: skip


@pytest.mark.parametrize("line", IGNORED)
def test_what_a_program_says_that_it_ignores_is_no_cause(line: str) -> None:
    assert told(f"starting the server\n{line}\nlistening on port 30000\n").cause == UNPROVEN
    plain = line.replace("Ignore import error when loading", "Error in").replace(". Disabling its usage", "")
    assert told(f"starting the server\n{plain}\n").cause != UNPROVEN


def test_an_exception_is_not_set_aside() -> None:
    text = (
        "Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nKeyError: 'labels are ignored'\n"
    )
    assert told(text).cause == "rank-crashed-first"


def test_templates_of_messages_are_data() -> None:
    line = "E72,ciod: LOGIN chdir({}) failed: Input/output error\n"
    assert told(line.format("<*>")).cause == UNPROVEN
    assert told(line.format("/home/a")).cause == "nfs-stale-or-io-error"


def test_a_long_object_in_json_is_data_and_a_record_is_not() -> None:
    said = "bash: torchrun: command not found\n"
    chat = json.dumps({"conv": [{"role": "user", "content": "why? " + said + "word " * 300}]})
    assert told(chat).cause == UNPROVEN
    assert told(json.dumps({"log": said, "padding": "word " * 300})).cause == "missing-system-tool"


@pytest.mark.parametrize("daemon", ["udisksd", "gnome-shell", "NetworkManager"])
def test_what_a_desktop_s_daemon_lacks_is_no_cause(daemon: str) -> None:
    line = "Jan 30 09:37:25 box {}[1456]: failed to load: libx.so.2: cannot open shared object file: No such file\n"
    assert told(line.format(daemon)).cause == UNPROVEN
    assert told(line.format("train.sh")).cause == "libnccl-or-cuda-lib-not-found"


def test_a_line_of_a_daemon_keeps_its_machine_s_other_lines_in_place() -> None:
    text = "Jan 30 09:37:25 box udisksd[14]: x\nJan 30 09:37:26 box kernel: NVRM: Xid (PCI:0000:3b:00): 79, lost\n"
    found = told(text)
    assert found.cause == "xid-gpu-fault" and found.where.node == "box"


# ---- warnings ----

WARNING = "/v/site-packages/geo/typing.py:63: UserWarning: no 'scatter': /v/_s.so: undefined symbol: _ZN5torch3jit1aE\n"


def test_a_warning_after_which_the_program_works_is_no_cause() -> None:
    assert told(WARNING + WORK).cause == UNPROVEN
    assert told(WARNING + WORK[:200]).cause == "binary-extension-mismatch"
    assert told(WARNING + WORK + "srun: error: n3: task 3: Exited with exit code 1\n").cause != UNPROVEN
    crash = "Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nKeyError: 'a'\n"
    assert told(WARNING + WORK + crash).cause != UNPROVEN


def test_nothing_is_certain_if_the_log_goes_on_and_nothing_failed() -> None:
    line = "RuntimeError: No CUDA GPUs are available\n"
    crash = 'Traceback (most recent call last):\n  File "/a.py", line 1, in f\nRuntimeError: no GPU\n'
    assert told(line).confidence == "certain"
    gone_on = told(line + WORK)
    assert (
        gone_on.confidence == "unproven"
        and gone_on.evidence == (line.strip(),)
        and "no-nvidia-driver" in gone_on.why
    )
    assert told(WORK + line).confidence == "certain"
    assert told(line + WORK + crash).confidence != "unproven"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (WARNING, True),
        ("FutureWarning: x is deprecated", True),
        ("W0718 19:09:32.776602  310894 libtpu_utils.cc:44] Metric exists", True),
        ("(pid=) W0718 19:09:32.776602  310894 libtpu_utils.cc:44] Metric exists", True),
        ("E0718 19:09:32.776602  310894 libtpu_utils.cc:44] Metric exists", False),
        ("RuntimeError: Warning: x", False),
        ("NCCL WARN Call to connect failed", False),
    ],
)
def test_whether_python_or_glog_warns(line: str, expected: bool) -> None:
    assert warns(line) is expected


def test_a_program_s_own_level_counts_in_json() -> None:
    record = {"time": "2024-12-16T14:25:04.3+03:00", "level": "INFO", "msg": "stream: closed", "id": "x"}
    assert told(json.dumps(record) + "\n").cause == UNPROVEN
    assert (
        told(json.dumps({**record, "level": "ERROR", "msg": "stream: connection closed by peer"})).cause
        != UNPROVEN
    )


@pytest.mark.parametrize("level", ["UCX  DEBUG", "TRACE:", "[DEBUG]"])
def test_what_is_logged_for_the_authors_is_no_cause(level: str) -> None:
    line = (
        "0: [1580511823.09] [cgpu17:53890:1] rcache.c:545 {} failed to map region 0x2a: Input/output error\n"
    )
    assert told(line.format(level)).cause == UNPROVEN
    assert told(line.format("disk ERROR")).cause == "nfs-stale-or-io-error"
    of_fabric = line.format("UCX  ERROR").replace("map region", "register on md[6]=ib/mlx5_0,")
    assert told(of_fabric).cause == "ib-transport-error"
    assert not is_set_aside("DEBUG=1 is not supported") and not is_set_aside("set NCCL_DEBUG to INFO")


def test_a_server_goes_on_without_the_configuration_of_generation() -> None:
    line = "Failed to load generation config for /m/Q: /m/Q does not appear to have a file named generation_config.json"
    assert told(f"[2026-06-09 03:34:35] {line}\n").cause == UNPROVEN


def test_a_loss_that_stays_nan_is_a_cause_however_long_the_log_goes_on() -> None:
    nan = "[Module] training_step -> loss: nan\n" * 3
    assert told(nan + WORK).cause == "loss-nan-fp16-overflow"
    step = (
        "loss: nan, co: nan\n{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-06, 'epoch': 0.0{n}}}\n\n"
    )
    bar = "  1%|▏         | {n}/1800 [26:22<20:34:44, 41.69s/it]"
    text = "".join((step + bar).format(n=n) for n in range(1, 9))
    assert told(text).cause == "loss-nan-fp16-overflow"
    good = "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 1e-06, 'epoch': 0.5}\n"
    assert told(text + good * 12 + bar.format(n=21)).cause == "benign-noise"


def test_a_launcher_s_report_of_a_kill() -> None:
    assert (
        told("starting\n | ERROR | launcher_x | Child process exited with code -9\n").cause
        == "rank-sigkilled"
    )


def test_logging_reports_an_error_of_its_own_and_goes_on() -> None:
    frames = '  File "/usr/lib/python3.11/logging/__init__.py", line 377, in getMessage\n    msg = msg % self.args\n'
    error = "TypeError: not all arguments converted during string formatting\n"
    text = f"--- Logging error ---\nTraceback (most recent call last):\n{frames}{error}Call stack:\n  f()\n"
    assert told(WORK + text).cause == UNPROVEN
    assert told(WORK + text.partition("\n")[2]).cause == "rank-crashed-first"


def test_tensorflow_registers_its_libraries_twice() -> None:
    line = "2024-12-01 10:00:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register "
    text = (
        line
        + "cuFFT factory: Attempting to register factory for plugin cuFFT when one has already been registered\n"
    )
    assert told(text).cause == UNPROVEN


def test_a_story_is_no_complaint() -> None:
    steps = "".join(f"step {n} loss 1.5\n" for n in range(20))
    story = (
        "在对话中，她询问了被杀的细节。他提供了一些线索，并提出了问题。最终，他们找到了答案。"
        + "这是一个故事" * 8
    )
    assert told(steps + story + "\n").cause == "benign-noise"


def test_a_guide_that_quotes_ranks_is_a_document() -> None:
    quote = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.41 GiB.\n"
    part = "## Part\n\n```\n" + quote + "```\n\n[more](https://example.org/x)\n\nSome words on it.\n\n- one\n"
    assert told(part * 40).cause == UNPROVEN and told(quote).cause == "cuda-oom"


def test_an_entry_of_a_list_in_a_document_is_no_complaint() -> None:
    assert (
        told(
            "We ran it.\n+ *Disk full*: fill up one server's hard disk to simulate the disk full failure.\n"
        ).cause
        == UNPROVEN
    )


OF_PROGRAMS = [
    'RANGES = {"invoked oom-killer: gfp_mask=": "oom_reaper: reaped process"}', "    r'NVRM: Xid .*: 79, GPU lost',",
    'FATAL = ["CUDA out of memory", "NCCL error"]', '    "No CUDA GPUs are available",',
]  # fmt: skip


@pytest.mark.parametrize("line", OF_PROGRAMS)
def test_texts_in_a_program_are_data(line: str) -> None:
    assert is_set_aside(line)
    assert told(line + "\n").cause == UNPROVEN


@pytest.mark.parametrize(
    "line",
    [
        '    "message": "RuntimeError: thrown",',
        "error = no GPU",
        "told = {'error': 'CUDA out of memory'}",
        '"CUDA out of memory" was said',
    ],
)
def test_other_quotes_are_not_a_program_s(line: str) -> None:
    assert not is_set_aside(line)


@pytest.mark.parametrize("text", ["", "all is well", "x will be trained", "the loss is 3"])
def test_other_lines_are_not_set_aside(text: str) -> None:
    assert not is_set_aside(text)


def test_a_program_that_prints_what_it_handled_has_not_crashed() -> None:
    handled = (
        'Traceback (most recent call last):\n  File "/r/score.py", line 7, in score\nTypeError: no answer\n'
    )
    turn = f"{WORK[:2000]}{handled}"
    steps = "".join(f"step {n} loss 1.5\n" for n in range(3))
    assert told(turn * 9 + steps + turn).cause == "benign-noise"
    assert told(turn * 9).cause == "rank-crashed-first"  # it may have ended there
    assert told(turn * 3 + steps + turn).cause == "rank-crashed-first"  # too few to tell
    assert told(handled * 9 + steps).cause == "rank-crashed-first"  # nine ranks
    ended = "srun: error: n3: task 3: Exited with exit code 1\n"
    assert told(turn * 9 + steps + turn + ended).cause == "rank-crashed-first"


def raised(kind: str, file: str = "/r/main.py") -> str:
    return f'Traceback (most recent call last):\n  File "{file}", line 7, in go\n{kind}\n'


def test_a_single_program_ended_with_its_last_exception() -> None:
    first, last = raised("ModuleNotFoundError: No module named 'featherlib'"), raised("KeyError: 'wings'")
    assert told(first + WORK + last).cause == "rank-crashed-first"
    assert told(first + last).cause == "missing-python-module"  # one event
    assert told(
        f"{first}\nDuring handling of the above exception, another exception occurred:\n\n{last}"
    ).cause == ("missing-python-module")
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert told(first + WORK + chained + last).cause == "missing-python-module"
    assert told(first + WORK + raised("EOFError: EOF when reading a line")).cause == "missing-python-module"
    of_ranks = "".join(f"[rank1]: {line}\n" for line in first.splitlines()) + WORK
    of_ranks += "".join(f"[rank0]: {line}\n" for line in last.splitlines())
    assert told(of_ranks).cause == "missing-python-module"


def test_of_many_exceptions_the_first_and_the_last_are_kept() -> None:
    text = "".join(WORK[:900] + raised(f"ValueError: odd {word}") for word in "abcdefghij")
    seen = Evidence()
    for line in parse(text, "x.log"):
        seen.add(line)
    (stream,) = seen.streams.values()
    assert [one.line.text[-1] for one in stream.raised] == ["a", "b", "c", "h", "i", "j"]


# ---- how programs close ----

CLOSES = [
    "=== ALL DONE ===", "Done!", "finetune.sh completed at time: 2023-07-20 18:26:53", "Evaluation completed.",
    "INFO:     Finished server process [599566]", "INFO 2026-06-12 18:27:59 ot_train.py:438 End of training",
    "Training time 6:56:49", "Results saved → /root/a.json", "🎉 评估完成！", "[INFO] BUILD SUCCESS",
    "Process 1646253 exits successfully.", "Full run log written to /scratch/x.txt",
    "training finished: 150 steps, 43 of them skipped", "fine-tuning finished after 3 epochs",
]  # fmt: skip


@pytest.mark.parametrize("line", CLOSES)
def test_a_log_that_closes_so_has_ended_well(line: str) -> None:
    found = told(f"{WORK}{line}\n")
    assert (found.cause, found.confidence) == ("benign-noise", "certain")
    assert told(f"{line}\n{WORK}").confidence != "certain"  # something was done, and the job went on


GOES_ON = [
    "Evaluation of epoch 3 completed.", "the run was not completed", "step 3 of the script is finished soon",
    "INFO [wandb_run.py:_restore()] restore completed", "done loading the data", "训练中", "Finished training epoch 3",
    "training finished for epoch 3", "Training steps completed: 150", "the run will be finished at 8",
]  # fmt: skip


@pytest.mark.parametrize("line", GOES_ON)
def test_a_part_that_is_done_is_not_the_end(line: str) -> None:
    assert told(f"{WORK}{line}\n").confidence != "certain"


def test_a_server_that_started_again_has_not_ended() -> None:
    text = "INFO:     Finished server process [1]\nINFO:     Application startup complete.\n"
    assert told(WORK + text).confidence != "certain"


def test_an_error_before_the_end_counts() -> None:
    crash = "Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nKeyError: 'a'\n"
    assert (
        told(f"{WORK}{crash}{WORK[:900]}finetune.sh completed at time: 18:26:53\n").cause
        == "rank-crashed-first"
    )
    killed = "srun: error: n3: task 3: Exited with exit code 1\n"
    assert told(f"{WORK}{killed}Done!\n").cause != "benign-noise"


def test_a_document_that_tells_of_an_end_has_not_ended() -> None:
    assert told("## Usage\n\nsome words\n\n```\nrun it\n```\nDone!\n").confidence != "certain"
