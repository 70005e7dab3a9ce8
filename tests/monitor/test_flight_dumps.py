"""Dumps of torch's flight recorder of any job: every format, several guilty ranks, groups of several kinds."""

from __future__ import annotations

import json
import pickle

import pytest

from allranks import cli
from allranks.cli.log_files import is_dump
from allranks.monitor.flight_dumps import judge, read


def entry(number, operation="nccl:all_reduce", state="completed", group=("0", "default_pg"), **more):
    return {
        "record_id": number, "pg_id": int(group[0]) if group[0].isdigit() else 0, "process_group": list(group),
        "collective_seq_id": number, "p2p_seq_id": 0, "profiling_name": operation, "state": state, "is_p2p": False,
        "input_sizes": [[4, 4]], "input_dtypes": ["Float"], "retired": state == "completed", **more,
    }  # fmt: skip


def run(last, state="started", ranks=4):
    """A rank's entries up to number `last`, of which the newest is not finished unless `state` says so."""
    return [entry(n) for n in range(1, last)] + [entry(last, state=state)]


@pytest.mark.parametrize(
    "text",
    [
        '{"pg_config": {"0": {"ranks": [0, "1", null]}}, "entries": [{"record_id": 1}]}',
        '{"pg_config": {}, "entries": ' + "[" * 100_000,
        '{"entries": [{"record_id": 1, "collective_seq_id": 1, "frames": 3}]}',
        '{"entries": [{"record_id": 1, "collective_seq_id": 1, "input_sizes": {"a": 1}}]}',
    ],
)
def test_a_damaged_dump_is_not_read_or_read_as_far_as_it_goes(text: str) -> None:
    try:
        assert judge([read("fr_0.json", text.encode())]) is not None
    except ValueError as error:
        assert str(error)


CONFIG = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}


def whole(entries, config=CONFIG):
    return {"version": "2.9", "entries": entries, "pg_config": config}


def tuples(data):
    """As torch's C++ writes them: the group is a tuple."""
    return {
        **data,
        "entries": [{**one, "process_group": tuple(one["process_group"])} for one in data["entries"]],
    }


FORMATS = {
    "JSON": lambda data: json.dumps(data).encode(),
    "a bare list": lambda data: json.dumps(data["entries"]).encode(),
    "a pickle": lambda data: pickle.dumps(data, protocol=2),
    "a pickle with tuples": lambda data: pickle.dumps(tuples(data), protocol=2),
    "a pickle of a bare list": lambda data: pickle.dumps(data["entries"], protocol=2),
    "torch 2.2": lambda data: pickle.dumps(
        [{k: v for k, v in e.items() if k not in ("process_group", "retired")} for e in data["entries"]],
        protocol=2,
    ),
}
NAMES = {
    "nccl_trace_rank_{}": None, "gpu-1_rank_{}": "gpu-1", "gpu-1/nccl_trace_rank_{}": "gpu-1", "fr_{}.json": None,
    "gpu-1_nccl_trace_rank_{}": "gpu-1", "nccl_trace_rank_gpu-1_{}": "gpu-1",
}  # fmt: skip


def judged(dumps, name="nccl_trace_rank_{}", pack=FORMATS["JSON"]):
    return judge([read(name.format(rank), pack(data)) for rank, data in dumps.items()])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_a_late_rank_in_every_format_and_under_every_name(form, name):
    """Rank 2's newest finished one is number 7; the others stand in number 8."""
    dumps = {rank: whole(run(7, "completed") if rank == 2 else run(8)) for rank in range(4)}
    found = judged(dumps, name, FORMATS[form])
    assert (found.cause, found.where.rank, found.where.node) == (
        "collective-timeout-straggler",
        2,
        NAMES[name],
    )
    assert {where.rank for where in found.collateral} == {0, 1, 3} and "number 7" in found.evidence[0]
    assert found.confidence == "certain"


def test_several_guilty_ranks():
    dumps = {rank: whole(run(7, "completed") if rank in (1, 2) else run(8)) for rank in range(4)}
    found = judged(dumps)
    assert found.where.rank is None and "ranks 1, 2 did not come" in found.why
    assert {where.rank for where in found.collateral} == {0, 3}


def test_a_rank_without_a_dump():
    found = judged({rank: whole(run(8)) for rank in (0, 1, 3)})
    assert (found.cause, found.where.rank, found.confidence) == ("collective-timeout-straggler", 2, "likely")
    assert "no dump of rank 2" in found.why


@pytest.mark.parametrize(
    "odd", [{"operation": "nccl:broadcast"}, {"input_sizes": [[4, 5]]}, {"input_dtypes": ["Half"]}]
)
def test_another_collective_size_or_type(odd):
    dumps = {r: whole([entry(1), entry(2, state="started", **(odd if r == 3 else {}))]) for r in range(4)}
    found = judged(dumps)
    assert (found.cause, found.where.rank, found.confidence) == ("collective-mismatch", 3, "certain")


def test_two_sides_name_no_rank():
    dumps = {r: whole([entry(2, ("nccl:broadcast", "nccl:barrier")[r % 2], "started")]) for r in range(4)}
    found = judged(dumps)
    assert (found.cause, found.where.rank, found.confidence) == ("collective-mismatch", None, "likely")


def test_entries_that_are_all_scheduled():
    """gloo's recorder, and one whose GPU was never asked: only how far each rank came counts."""
    dumps = {r: whole([entry(n, state="scheduled") for n in range(1, 8 if r == 1 else 9)]) for r in range(4)}
    found = judged(dumps)
    assert (found.cause, found.where.rank, found.confidence) == ("collective-timeout-straggler", 1, "likely")
    same = judged({r: whole([entry(n, state="scheduled") for n in range(1, 9)]) for r in range(4)})
    assert same.cause == "unproven" and "no rank is behind" in same.why


def test_groups_of_tensor_and_data_parallelism():
    """Ranks 0 and 1, 2 and 3 share layers; 0 and 2, 1 and 3 share data. Rank 3 is late in its tensor group: rank 2
    waits for it there, and rank 0 for rank 2 in their data group."""
    groups = {"tp0": (0, 1), "tp1": (2, 3), "dp0": (0, 2), "dp1": (1, 3)}

    def config(rank):
        return {name: {"desc": name[:2], "ranks": str(list(of))} for name, of in groups.items() if rank in of}

    def at(name, number, state):
        return entry(number, state=state, group=(name, name[:2]))

    dumps = {
        0: whole([at("tp0", 5, "completed"), at("dp0", 3, "started")], config(0)),
        1: whole([at("tp0", 5, "completed"), at("dp1", 3, "started")], config(1)),
        2: whole([at("tp1", 5, "started"), at("dp0", 2, "completed")], config(2)),
        3: whole([at("tp1", 4, "completed"), at("dp1", 2, "completed")], config(3)),
    }
    found = judged(dumps)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 3)
    assert {where.rank for where in found.collateral} == {0, 1, 2}


def test_groups_of_one_name_are_told_apart_by_their_ranks():
    """Every rank calls its tensor group `1`: ranks 2 and 3 are at another number, and nobody is late."""
    dumps = {}
    for rank in range(4):
        of = [0, 1] if rank < 2 else [2, 3]
        mine = [entry(5 if rank < 2 else 9, state="completed", group=("1", "tp"))]
        dumps[rank] = whole(mine, {"1": {"desc": "tp", "ranks": str(of)}})
    assert judged(dumps).cause == "unproven"


def test_a_pipelines_receive_without_a_send():
    """Rank 2 waits for what rank 1 has not sent, and rank 3 for rank 2."""
    config = {"pp": {"desc": "pp", "ranks": "[0, 1, 2, 3]"}}

    def p2p(name, number):
        return {
            **entry(1, name, "started", ("pp", "pp")),
            "is_p2p": True,
            "p2p_seq_id": number,
            "retired": False,
        }

    done = [entry(1, group=("pp", "pp"))]
    dumps = {
        0: whole(done, config), 1: whole(done, config),
        2: whole([*done, p2p("nccl:recv 2<-1", 4)], config), 3: whole([*done, p2p("nccl:recv 3<-2", 4)], config),
    }  # fmt: skip
    found = judged(dumps)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 1)


def test_a_pickle_that_would_run_something_is_refused():
    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    with pytest.raises(ValueError):
        read("nccl_trace_rank_0", pickle.dumps({"entries": [Evil()]}, protocol=2))


def test_what_is_a_dump():
    assert is_dump(FORMATS["a pickle"](whole(run(2)))) and is_dump(FORMATS["JSON"](whole(run(2))))
    assert not is_dump(b'{"loss": 2.0}') and not is_dump(b"[rank0]: step 1")


@pytest.mark.parametrize("form", ["JSON", "a pickle with tuples"])
def test_the_verb_reads_a_folder_of_dumps(form, tmp_path, capsys):
    for rank in range(4):
        data = whole(run(7, "completed") if rank == 2 else run(8))
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(FORMATS[form](data))
    (tmp_path / "nccl_trace_rank_9").write_bytes(b"\x80\x02 entries broken")
    assert cli.main(["diagnose", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "rank 2" in said.out and "nccl_trace_rank_9" in said.err
    (tmp_path / "run.log").write_text("Traceback (most recent call last):\nKeyError: 'x'\n")
    assert cli.main(["diagnose", str(tmp_path)]) == 1
    assert "KeyError" in capsys.readouterr().out


def p2p(name, number, **more):
    one = {
        **entry(1, name, "scheduled", ("pp", "pp")),
        "is_p2p": True,
        "p2p_seq_id": number,
        "retired": False,
    }
    return {**one, **more}


def test_batches_that_are_over_are_answered_though_their_members_have_no_state():
    """Rank 0 of four stages sends to rank 1; rank 2 never comes to its receive of the second batch."""
    config = {"pp": {"desc": "pp", "ranks": "[0, 1, 2, 3]"}}
    over = {"state": "completed", "retired": True}
    dumps = {
        0: whole([entry(1, group=("pp", "pp")), p2p("nccl:send 0->1", 1), p2p("nccl:coalesced", 1, **over)], config),
        1: whole([entry(1, group=("pp", "pp")), p2p("nccl:recv 1<-0", 3), p2p("nccl:coalesced", 3, **over),
                  p2p("nccl:send 1->2", 4, state="started")], config),
        2: whole([entry(1, group=("pp", "pp"))], config),
        3: whole([entry(1, group=("pp", "pp")), p2p("nccl:recv 3<-2", 9, state="started")], config),
    }  # fmt: skip
    found = judged(dumps)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 2)


def test_sends_and_receives_of_two_ranks_meet_whatever_each_counts():
    config = {"pp": {"desc": "pp", "ranks": "[0, 1]"}}
    begun = {"state": "started"}
    dumps = {
        0: whole([entry(1, group=("pp", "pp")), p2p("nccl:send 0->1", 2, **begun)], config),
        1: whole([entry(1, group=("pp", "pp")), p2p("nccl:recv 1<-0", 3, **begun)], config),
    }
    assert judged(dumps).where.rank is None


def test_the_number_of_a_send_does_not_hide_a_collective_that_waits():
    """torch's status of a group may have the number of the last send."""
    status = {"0": {"last_completed_collective": 500}}
    dumps = {rank: {**whole(run(40 if rank != 3 else 39, "started" if rank != 3 else "completed")),
                    "pg_status": status} for rank in range(4)}  # fmt: skip
    found = judged(dumps)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 3)
