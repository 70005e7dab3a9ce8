"""Whose a process is: every case of docs/decisions/ownership.md, without a process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from allranks.node.ownership import Ownership, Records, read_records
from allranks.node.processes import Stat

SUPERVISOR, TORCHRUN, RANK, LOADER = 100, 110, 120, 130
RECORDS = Records(frozenset({(100, 1000), (110, 1010), (120, 1020)}), {110: 1010, 120: 1020})


def process(pid, ppid=1, session=None, start=2000, state="S"):
    return Stat(pid, "python", state, ppid, session if session is not None else pid, start, 0)


def judge(*stats, uids=None, carriers=(), uid=1000, spared=()):
    table = {stat.pid: stat for stat in stats}
    ownership = Ownership(
        "r1",
        RECORDS,
        uid,
        lambda pid: (uids or {}).get(pid, 1000),
        lambda pid: "r1" if pid in carriers else None,
        frozenset(spared),
    )
    ours = ownership.ours(table)
    foreign = ownership.foreign(table, ours)
    return sorted(claim.stat.pid for claim in ours), {claim.stat.pid: claim.why for claim in foreign}


def test_what_descends_from_the_supervisor_is_ours_whatever_it_carries():
    tree = [process(100, start=1000), process(500, 100), process(501, 500), process(502, 1)]
    assert judge(*tree) == ([100, 500, 501], {})


def test_what_was_recorded_is_ours_and_so_is_what_it_started():
    assert judge(process(120, start=1020), process(600, 120), process(601, 1)) == ([120, 600], {})


def test_a_recycled_pid_is_not_ours_nor_what_it_started():
    ours, foreign = judge(process(120, start=9999), process(600, 120), carriers={600})
    assert ours == [] and list(foreign) == [600]


def test_a_carrier_in_a_session_of_ours_that_is_younger_than_its_leader_is_ours():
    assert judge(process(700, session=120, start=1020), carriers={700})[0] == [700]
    assert judge(process(700, session=120, start=5000), carriers={700})[0] == [700]


def test_neither_the_session_nor_the_run_id_alone_makes_it_ours():
    ours, foreign = judge(process(700, session=120), process(701, session=701), carriers={701})
    assert ours == [] and list(foreign) == [701]


def test_a_carrier_older_than_the_sessions_leader_is_not_ours():
    ours, foreign = judge(process(700, session=120, start=1019), carriers={700})
    assert ours == [] and list(foreign) == [700]


def test_a_session_id_that_is_somebody_elses_by_now_proves_nothing():
    """The leader's pid was recycled: a stranger leads a new session of the same number."""
    stranger, member = process(120, start=9000), process(700, session=120, start=9001)
    ours, foreign = judge(stranger, member, carriers={120, 700})
    assert ours == [] and sorted(foreign) == [120, 700]


def test_a_foreign_shell_that_inherited_the_run_id_is_named_and_left_alone():
    ours, foreign = judge(process(800, ppid=1), process(801, 800), carriers={800, 801})
    assert ours == [] and sorted(foreign) == [800, 801]
    assert "did not make its session" in foreign[800]


def test_another_users_process_is_never_ours():
    ours, foreign = judge(process(120, start=1020), process(600, 120), uids={120: 0, 600: 0}, carriers={600})
    assert ours == [] and foreign == {600: "it carries the run id but runs as another user"}
    assert judge(process(120, start=1020), process(600, 120), uids={600: 0})[0] == [120]


def test_zombies_are_nobodys():
    assert judge(process(120, start=1020, state="Z"), process(600, 1, state="Z"), carriers={600}) == ([], {})


def test_who_asks_is_spared():
    ours, foreign = judge(
        process(120, start=1020), process(600, 120), process(601, 600), carriers={600}, spared={600, 601}
    )
    assert ours == [120] and foreign == {600: "it is the command that asks, or one that started it"}


def test_records_of_another_boot_or_that_are_no_records_say_nothing():
    good = {"pid": 5, "start_time": 50, "session": 5, "boot_id": "b"}
    lines = [good, {**good, "boot_id": "a", "pid": 6}, {}, {**good, "pid": "7"}, {**good, "start_time": None}]
    assert read_records(lines, "b") == Records(frozenset({(5, 50)}), {5: 50})


stats = st.builds(
    Stat,
    st.sampled_from([1, 100, 110, 120, 130, 600, 601]),
    st.just("x"),
    st.sampled_from("SZ"),
    st.sampled_from([0, 1, 100, 110, 120, 130, 600]),
    st.sampled_from([1, 110, 120, 600]),
    st.sampled_from([900, 1000, 1010, 1020, 5000]),
    st.just(0),
)


@given(st.lists(stats, max_size=7), st.sets(st.sampled_from([1, 130, 600, 601])))
def test_whatever_the_table_every_claim_goes_back_to_a_record_or_to_our_session(found, carriers):
    table = {stat.pid: stat for stat in found}
    ours, foreign = judge(*table.values(), carriers=carriers)
    assert not set(ours) & set(foreign)
    for pid in ours:
        assert table[pid].state != "Z"
        above, seen = table[pid], set()
        while above is not None and above.pid not in seen:
            recorded = (above.pid, above.start_time) in RECORDS.seen
            began = RECORDS.sessions.get(above.session)
            if recorded or (above.pid in carriers and began is not None and above.start_time >= began):
                break
            seen.add(above.pid)
            above = table.get(above.ppid)
        else:
            raise AssertionError(f"pid {pid} is claimed without a reason")
