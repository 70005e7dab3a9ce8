"""The one rank that prints something else than all others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from allranks.diagnose import Evidence, conclude, parse
from allranks.diagnose.differences import only_one_differs
from allranks.diagnose.samples import first_numbers, lines_of_each
from allranks.diagnose.scan import scan
from allranks.diagnose.speakers import owners, quiet_rank
from tests.diagnose.test_earlier_runs import of_rank, raised, told

SIZES = raised(
    "RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 564 vs 488"
)
LATE = raised(
    "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting 12000ms for send operation"
)
MISMATCH = "".join(of_rank(rank, SIZES) for rank in range(3))
PEER = raised("RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:20668")
ALL_LATE = "".join(of_rank(rank, LATE) for rank in range(3))


def ranks(line: str, values: Sequence[object], label: str = "({rank}) ") -> str:
    order = (1, 0, *range(2, len(values)))  # a list would rise
    return "".join(label.format(rank=rank) + line.format(values[rank]) + "\n" for rank in order)


def seen_of(text: str) -> Evidence:
    seen = Evidence()
    for line in parse(text):
        seen.add(line)
    return seen


@pytest.mark.parametrize(
    "label", ["({rank}) ", "<{rank}> ", "w{rank}: ", "INFO:vit.{rank}:", "rank {rank}: ", "[rank{rank}]: "]
)
@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("vocabulary of {}", (27, 29, 27)),
        ("step 4 feats ({}, 16)", (16, 14, 16)),
        ("split with {} samples", (200, 168, 200)),
        ("config from {}.yaml", ("base", "large", "base")),
        ("dtype torch.{}", ("bfloat16", "float32", "bfloat16")),
    ],
)
def test_a_rank_with_another_number_or_word(label: str, line: str, values: Sequence[object]) -> None:
    found = told(ranks(line, values, label) + MISMATCH)
    assert (found.cause, found.where.rank) == ("collective-mismatch", 1)
    assert any(note.startswith("only rank 1 says") for note in found.evidence)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("vocabulary of {}", (27, 27, 27)),
        ("vocabulary of {}", (27, 28, 29)),
        ("loaded in {} ms", (27, 29, 27)),
        ("read with pid {}", (27, 29, 27)),
        ("started at {}", ("12:00:01", "12:00:02", "12:00:01")),
        ("step {} of the training", (3, 4, 3)),
        ("{} | epoch 1", ("12:00:01", "12:00:02", "12:00:01")),
        ("saves to {}.pt", ("last", "none", "none")),  # rank 0 has tasks of its own
    ],
)
def test_what_all_say_or_what_varies_shows_nothing(line: str, values: Sequence[object]) -> None:
    assert only_one_differs(seen_of(ranks(line, values) + MISMATCH)) is None


def test_two_that_differ_or_two_ranks_show_nothing() -> None:
    both = ranks("vocabulary of {}", (27, 29, 27)) + ranks("width {}", (64, 64, 32))
    assert only_one_differs(seen_of(both + MISMATCH)) is None
    assert only_one_differs(seen_of(ranks("vocabulary of {}", (27, 29)) + MISMATCH)) is None
    # rank 3 exists, but none of its lines is here
    assert (
        only_one_differs(seen_of(ranks("vocabulary of {}", (27, 29, 27)) + MISMATCH + of_rank(3, SIZES)))
        is None
    )


def test_a_number_that_is_not_always_the_odd_one_shows_nothing() -> None:
    losses = "".join(
        ranks(f"step {n} hits {{}}", values) for n, values in enumerate([(3, 4, 3), (4, 4, 5), (2, 2, 2)])
    )
    assert only_one_differs(seen_of(losses + MISMATCH)) is None
    sizes = "".join(
        ranks(f"step {n} rows {{}}", values) for n, values in enumerate([(8, 8, 8), (8, 8, 8), (8, 8, 5)])
    )
    found = only_one_differs(seen_of(sizes + MISMATCH))
    assert found is not None and found.rank == 2


def test_the_lines_of_one_step_are_compared() -> None:
    lines = "".join(
        f"({rank}) iter {n} |w| {n}\n" for rank, first in ((0, 0), (1, 0), (2, 1)) for n in range(first, 4)
    )
    assert only_one_differs(seen_of(lines + MISMATCH)) is None


def test_steps_and_items_of_a_list_are_no_ranks() -> None:
    assert only_one_differs(seen_of("epoch 0 size 5\nepoch 1 size 7\nepoch 2 size 5\n" + MISMATCH)) is None
    assert only_one_differs(seen_of("part 0 of 5\npart 1 of 7\npart 2 of 5\n" + MISMATCH)) is None


def test_the_arguments_of_a_launch() -> None:
    lines = "".join(
        f"+ torchrun --nnodes 3 --node-rank {n} --master-port 29500 vit.py --width 64 --layers {layers}\n"
        for n, layers in enumerate((4, 6, 4))
    )
    found = told(lines + MISMATCH)
    assert (found.cause, found.where.rank, found.confidence) == ("launch-args-mismatch", 1, "likely")
    assert any("--layers 6" in note and "--layers 4" in note for note in found.evidence)


def test_a_rank_with_a_line_of_its_own_before_the_end() -> None:
    lines = ranks("train_epoch: epoch 0 loss {}", (0.2595, 0.2595, 0.2595), "INFO:host{rank}:")
    skipped = "INFO:host2:validate: no validation samples here, skipped\n"
    found = told(lines + skipped + MISMATCH)
    assert (found.cause, found.where.rank) == ("collective-mismatch", 2)
    assert only_one_differs(seen_of(lines + skipped.replace("host2", "host0") + MISMATCH)) is None
    assert only_one_differs(seen_of(lines + skipped + lines + MISMATCH)) is None


def test_a_comparison_confirms_the_rank_that_is_named_and_contradicts_none() -> None:
    two = "".join(of_rank(rank, LATE) for rank in (0, 2))
    lines = ranks("scoring 2 transcripts of {} tokens", (60, 9000, 60), "[rank{rank}]: ")
    found = told(lines + two)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 1)
    assert any("9000 tokens" in note for note in found.evidence)
    other = ranks("scoring 2 transcripts of {} tokens", (60, 60, 9000), "[rank{rank}]: ")
    found = told(other + two)
    assert found.where.rank == 1 and not any("9000 tokens" in note for note in found.evidence)


def test_a_secret_is_not_cut_apart() -> None:
    token = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    found = told(ranks("vocabulary of {} for token=" + token, (27, 29, 27)) + MISMATCH)
    assert found.where.rank == 1
    assert "abcdefgh" not in " ".join(found.evidence) and "ABCDEFGH" not in " ".join(found.evidence)


def test_one_log_of_each_rank(tmp_path: Path) -> None:
    seen = Evidence()
    for rank, (width, words) in enumerate(((4, "base"), (6, "base"), (4, "base"))):
        text = f"model {words} has {width} layers\n" + "filling words\n" * 500 + of_rank(rank, SIZES)
        for one in scan([text.encode()], source=f"node-{'abc'[rank]}.log"):
            seen.take(one)
    found = conclude(seen)
    assert (found.cause, found.where.rank) == ("collective-mismatch", 1)


def test_the_exception_of_a_thread_is_of_the_rank_that_does_not_complain() -> None:
    steps = "".join(f"ep0 it{n:02} rank{rank} mse=0.{n}\n" for n in range(3) for rank in range(3))
    thread = "Exception in thread prefetch:\n" + raised(
        "ZeroDivisionError: integer division or modulo by zero"
    )
    late = of_rank(0, LATE) + of_rank(1, LATE)
    steps += "[rank2]: ready\n"
    found = told(steps + thread + steps.replace("it0", "it1") + late)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)
    assert told(steps + late + thread).where.rank is None  # it came later


def test_a_number_that_is_far_away_from_all_others() -> None:
    clips = ranks("clips_x.csv: {} clips", (90, 1300, 84))
    found = only_one_differs(seen_of(clips + ALL_LATE))
    assert found is not None and found.rank == 1 and "1300" in found.note
    fetched = ranks("fetch complete in {} s", (0.4, 28.9, 0.4))
    found = only_one_differs(seen_of(fetched + ALL_LATE))
    assert found is not None and found.rank == 1
    assert only_one_differs(seen_of(ranks("{} clips", (90, 300, 84)) + ALL_LATE)) is None
    assert only_one_differs(seen_of(ranks("loss {}", (0.1, 2.3, 0.2)) + ALL_LATE)) is None  # too small


def test_the_only_number_that_is_not_finite() -> None:
    found = only_one_differs(seen_of(ranks("x.min=-4.5 x.max={} mean=0.1", ("47", "37.6", "inf")) + ALL_LATE))
    assert found is not None and found.rank == 2 and found.is_extreme
    assert only_one_differs(seen_of(ranks("loss {}", ("nan", "nan", "0.2")) + ALL_LATE)) is None


def test_the_logs_of_ranks_by_the_names_of_others(tmp_path: Path) -> None:
    def of(rank: int, end: str) -> tuple[str, str]:
        return f"run/trainer-{rank}.out", f"model has {6 if rank == 2 else 4} layers\n" + end

    logs = [of(0, of_rank(0, SIZES)), of(1, of_rank(1, SIZES)), of(2, ""), of(3, of_rank(3, SIZES))]
    seen = Evidence()
    for name, text in logs:
        for line in parse(text, name):
            seen.add(line)
    assert owners(seen) == {f"run/trainer-{rank}.out": rank for rank in range(4)}
    assert quiet_rank(seen) == 2
    assert conclude(seen).where.rank == 2


def test_machines_that_are_counted_from_one() -> None:
    lines = "".join(
        f"gpu-0{rank + 1} | reads {size} documents\n" for rank, size in enumerate((400, 300, 400))
    )
    text = "".join(
        f"gpu-0{rank + 1}: [rank{rank}]: {line}\n" for rank in (0, 2) for line in LATE.splitlines()
    )
    found = only_one_differs(seen_of(lines + text))
    assert found is not None and found.rank == 1


def test_the_process_that_multiprocessing_names() -> None:
    denied = raised("PermissionError: [Errno 13] Permission denied: 'out/w2/metrics.csv'")
    assert told("Process w2:\n" + denied).where.rank == 2
    assert told("Process Process-2:\n" + denied).where.rank is None


def test_a_number_before_which_times_stand() -> None:
    for stamp in ("21:05:26 ", "2026-11-30T21:05:26 ", "30/11 21:14:22.518 ", "+3398 ms "):
        found = only_one_differs(
            seen_of(ranks("vocabulary of {}", (27, 29, 27), stamp + "r{rank} I ") + MISMATCH)
        )
        assert found is not None and found.rank == 1, stamp


def test_ranks_that_introduce_themselves_by_the_names_of_their_machines() -> None:
    text = "".join(
        f"<{name}> 22:11:13 process {rank} of 4, torch 2.13\n<{name}> 22:11:13 volume with a burst of {burst} KiB\n"
        for rank, (name, burst) in enumerate(
            (("vela", 65536), ("lyra", 3072), ("nova", 65536), ("cygn", 65536))
        )
    )
    found = only_one_differs(seen_of(text + ALL_LATE))
    assert found is not None and found.rank == 1
    twice = text.replace("process 2 of 4", "process 1 of 4")
    assert only_one_differs(seen_of(twice + ALL_LATE)) is None


def test_a_name_of_a_rank_is_no_difference() -> None:
    text = "".join(
        f"{name}| rang {rank}/3 konfiguration conf/{name}.json vokabular {words}\n"
        for rank, (name, words) in enumerate((("iris", 2048), ("lotus", 2176), ("tulip", 2048)))
    )
    found = told(text + MISMATCH)
    assert (found.cause, found.where.rank) == ("collective-mismatch", 1)


def test_three_others_that_nearly_agree_show_what_is_usual() -> None:
    def rank_of(*values: float) -> int | None:
        found = only_one_differs(
            seen_of(ranks("train.jsonl with {} utterances", values, "rank {rank}: ") + ALL_LATE)
        )
        return found.rank if found is not None else None

    assert rank_of(147, 150, 46, 157) == 2
    assert rank_of(147, 150, 340, 157) == 2
    assert rank_of(147, 150, 157, 46) is None  # the rest of the data
    assert rank_of(147, 150, 90, 157) is None
    assert rank_of(100, 150, 46, 200) is None


def test_a_step_that_a_sentence_names_once() -> None:
    assert told(ranks("resuming state of model at step {}", (200, 240, 200)) + MISMATCH).where.rank == 1


def test_the_rank_whose_data_hold_an_extreme_number() -> None:
    losses = "".join(f"step {n} loss nan\n" for n in range(30))
    found = told(ranks("windows=640 min=4.7 max={}", (35.41, 3e38, 36.25), "rank {rank}: ") + losses)
    assert (found.cause, found.where.rank) == ("loss-nan-fp16-overflow", 1)
    found = told(ranks("windows={} max=35.4", (640, 320, 640), "rank {rank}: ") + losses)
    assert (found.cause, found.where.rank) == ("loss-nan-fp16-overflow", None)


def test_a_rank_that_has_no_files() -> None:
    text = ranks("pattern data/part-x.json with {} files", (6, 6, 0))
    lost = of_rank(0, PEER) + of_rank(1, PEER)
    found = told(text + "[rank2]: ready\n" + lost)
    assert (found.cause, found.where.rank) == ("dataset-file-missing-on-node", 2)
    found = told(text.replace("files", "errors") + "[rank2]: ready\n" + lost)
    assert found.cause == "nccl-remote-process-exited"


@pytest.mark.parametrize(
    ("logs", "each"), [(2, 64), (256, 64), (257, 63), (1000, 16), (2048, 8), (100_000, 8)]
)
def test_how_many_lines_of_each_log_are_compared(logs: int, each: int) -> None:
    assert lines_of_each(logs) == each
    assert first_numbers(each)(1, 1000) == list(range(1, each + 1))
    assert first_numbers(each)(each, each + 9) == [each] and first_numbers(each)(each + 1, 1000) == []


def test_a_log_of_which_few_lines_are_compared_is_read_quickly_to_the_same_result() -> None:
    seen, quick = Evidence(), Evidence()
    seen.samples.of_each = quick.samples.of_each = 3
    for rank in range(3):
        text = f"model is large\nfilling words\n\nseed {rank // 2}\n" + "filling words\n" * 90
        for line in parse(text, f"rank{rank}.log"):
            seen.add(line)
        for one in scan([text.encode()], f"rank{rank}.log", of_each=3):
            quick.take(one)
    lines = seen.samples.lines(False, 0)
    assert lines == quick.samples.lines(False, 0)
    assert {line.number for line in lines} == {1, 2, 3}
