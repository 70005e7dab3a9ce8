"""What an engine is asked to run, whom its failures name, and how an order reaches a waiting supervisor."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks import spec
from allranks.core import BadInput, Node
from allranks.launch import jobs, pages, starting
from allranks.launch.launchers import deepspeed, mpi, pdsh
from allranks.launch.launchers.slurm import jobs as slurm_jobs
from allranks.launch.launchers.slurm import words as slurm
from allranks.launch.starting import Start
from allranks.node import engine_orders
from allranks.node.paths import RunDirectory
from allranks.plan import make_plan
from allranks.runs import sweep
from allranks.transport import Completed
from tests.harness import until

NODES = "nodes:\n  - {name: host-a, address: 10.0.0.1}\n  - {name: host-b, address: 10.0.0.2}\n"
CPU = "{count: 4, model: cpu}"
FILE = NODES + "train: {command: [x.py]}\n"


def launch(text: str = FILE, more: str = "") -> Start:
    run = spec.loads(text + more)
    folders = {node.name: f"/root/.allranks/runs/r/engine/{node.rank}.sh" for node in run.cluster.nodes}
    return starting.starting(run, make_plan(run, None, {}), folders)


def test_pdsh_starts_one_file_of_each_nodes_place_on_all_at_once() -> None:
    words = pdsh.command(launch(more="user: me\n"))
    assert words[-3:] == ["-w", "me@10.0.0.1,me@10.0.0.2", "exec sh /root/.allranks/runs/r/engine/%n.sh"]
    assert words[words.index("-f") + 1] == "2"


def test_mpirun_gets_one_context_a_node_in_the_run_files_order() -> None:
    words = mpi.command(launch(more="network: {interface: eth7}\n"))
    assert words[words.index("oob_tcp_if_include") + 1] == "eth7"
    first, second = " ".join(words).split(" : ")
    assert first.endswith("--host 10.0.0.1 sh /root/.allranks/runs/r/engine/0.sh")
    assert second == "-np 1 --host 10.0.0.2 sh /root/.allranks/runs/r/engine/1.sh"


def test_deepspeeds_launcher_starts_one_process_a_node_in_a_session_of_its_own() -> None:
    """Its SIGTERM handler runs `pkill -f` on every node: nothing that ends us may reach it."""
    words = deepspeed.command(launch(more="user: me\n"))
    assert words[:2] == ["sh", "-c"] and "exec setsid --wait" in words[2]
    assert words[5] == "me@10.0.0.1 slots=1\nme@10.0.0.2 slots=1\n"
    assert words[-2:] == ["sh", "/root/.allranks/runs/r/engine/%n.sh"]
    # It sets the GPUs by its slots; the ranks must see all of them.
    assert words[words.index("--no_local_rank") :][1:4] == ["env", "-u", "CUDA_VISIBLE_DEVICES"]


@pytest.mark.parametrize("engine", [pdsh, mpi, deepspeed])
def test_what_an_engine_cannot_be_told_is_refused(engine: ModuleType) -> None:
    with pytest.raises(BadInput, match="SSH ports"):
        engine.command(launch(FILE.replace("10.0.0.2", "10.0.0.2, port: 2222")))
    with pytest.raises(BadInput, match="as an address"):
        engine.command(launch(FILE.replace("10.0.0.2", "'fe80::1'")))


def test_pdsh_refuses_homes_that_differ_or_mean_something_to_a_shell() -> None:
    one = launch()
    with pytest.raises(BadInput, match="differ"):
        pdsh.command(replace(one, scripts={"host-a": "/x/engine/0.sh", "host-b": "/y/engine/1.sh"}))
    with pytest.raises(BadInput, match="shell"):
        pdsh.command(replace(one, scripts={"host-a": "/x y/0.sh", "host-b": "/x y/1.sh"}))


def test_mpirun_takes_one_user_and_the_others_one_for_each_node() -> None:
    several = launch(FILE.replace("10.0.0.2", "10.0.0.2, user: other"))
    with pytest.raises(BadInput, match="several users"):
        mpi.command(several)
    assert "10.0.0.1,other@10.0.0.2" in pdsh.command(several)


def test_sbatch_asks_for_the_named_nodes_one_by_one_and_whole_unless_told_otherwise() -> None:
    run = launch(more="launch: {with: slurm, partition: p, time: '10', extra: [--mem=8G]}\n").run
    words = slurm.sbatch(run, "r-1")
    assert {"--nodes=2", "--nodelist=host-a,host-b", "--partition=p", "--time=10"} <= set(words)
    assert {"--exclusive", "--no-requeue", "--signal=B:USR1@120"} <= set(words) and "--mem=0" not in words
    assert words[-1] == "--comment=allranks:r-1"


@pytest.mark.parametrize(
    ("extra", "gpus", "asked"),
    [("[]", True, ["--gres=gpu:4"]), ("[]", False, []), ("[--gpus-per-node=a100:4]", True, [])],
)
def test_gpus_are_asked_for_where_the_partition_counts_them(extra: str, gpus: bool, asked: list[str]) -> None:
    run = launch(more=f"gpus: 4\nlaunch: {{with: slurm, extra: {extra}}}\n").run
    words = slurm.sbatch(run, "r", gpus=gpus)
    assert [word for word in words if word.startswith("--gres")] == asked


def test_no_gpus_are_asked_for_where_training_on_cpus_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    async def counts(_: list[str]) -> Completed:
        return Completed(0, b"gpu:4", b"")

    monkeypatch.setattr(slurm_jobs, "slurm_command", counts)
    asked = [asyncio.run(slurm_jobs.counts_gpus(launch(more=f"gpus: {form}\n").run)) for form in ("4", CPU)]
    assert asked == [True, False]


def test_a_sweep_is_an_array_whose_tasks_know_their_own_command() -> None:
    more = "launch: {with: slurm}\nsweep: {lr: [1e-5, 5e-5], seed: [1]}\n"
    run = launch(more=more).run
    ones = sweep.combinations(run)
    assert [str(one) for one in ones] == ["lr=1e-05 seed=1", "lr=5e-05 seed=1"]
    assert [one.run.name for one in ones] == [f"{run.name}-0", f"{run.name}-1"]
    assert ones[1].run.train.command == ("x.py", "--lr=5e-05", "--seed=1") and not ones[1].run.sweep
    assert spec.loads(FILE + more, sets=list(ones[1].sets)).train == ones[1].run.train
    words = slurm.sbatch(run, "r", requeue=True, tasks=2)
    assert {"--array=0-1", "--requeue"} <= set(words)
    text = slurm.script([["allranks", "a b"], ["allranks", "c"]])
    assert "0) set -- allranks 'a b' ;;\n  1) set -- allranks c ;;" in text


def test_a_sweep_of_llamafactorys_arguments_replaces_them() -> None:
    more = "train: {llamafactory: {learning_rate: 1e-3, bf16: true}}\nsweep: {learning_rate: [1e-5]}\n"
    (one,) = sweep.combinations(spec.loads(NODES + more))
    assert one.run.train.arguments["learning_rate"] == 1e-5
    assert spec.loads(NODES + more, sets=list(one.sets)).train.arguments == one.run.train.arguments


@pytest.mark.parametrize("again", [[], [["a", "it's"]]])
def test_the_jobs_script_is_shell(again: list[list[str]]) -> None:
    for text in (slurm.script(again), slurm.INSIDE, slurm.BEGIN, jobs.NOTICED):
        assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 600),
        ("5:30", 330),
        ("24:00:00", 86400),
        ("1-12", 129600),
        ("1-0:30", 88200),
        ("UNLIMITED", None),
        (None, None),
    ],
)
def test_time_limits_are_read_as_slurm_reads_them(text: str | None, seconds: int | None) -> None:
    assert slurm.limit_seconds(text) == seconds


def test_a_short_job_is_not_told_of_its_end_at_its_beginning() -> None:
    run = launch(more="launch: {with: slurm, time: '2'}\n").run
    assert slurm.notice_seconds(run) == 30


@pytest.mark.parametrize(("mine", "code"), [([], 1), (["true"], 0), (["false"], 1)])
def test_the_notice_is_slurms_file_or_the_users_own_command(
    mine: list[str], code: int, tmp_path: Path
) -> None:
    run = launch(more=f"save: {{notice: {mine}}}\nlaunch: {{with: slurm}}\n").run
    words = jobs.notice_command(run, str(tmp_path))
    assert subprocess.run(words, check=False).returncode == code
    (tmp_path / jobs.LEAVING).touch()
    assert subprocess.run(words, check=False).returncode == 0


def test_a_job_is_ours_by_its_comment_alone() -> None:
    def job(comment: str, shown: str = "7") -> slurm_jobs.Job:
        return slurm_jobs.Job("7", "RUNNING", comment=comment, shown=shown)

    assert job("allranks:r-1").is_of("r-1")
    assert job("allranks:r", "5_2").is_of("r-2") and not job("allranks:r", "5_2").is_of("r-1")
    for comment in ("", "r-1", "allranks:", "allranks:r-10", "my allranks:r-1"):
        assert not job(comment).is_of("r-1")


def test_a_requeue_takes_no_secret_along() -> None:
    more = "resume: auto\nlaunch: {with: slurm}\n"
    assert slurm_jobs.requeues(launch(more=more).run)
    assert not slurm_jobs.requeues(launch(more=more + "secrets: [TOKEN]\n").run)
    with pytest.raises(BadInput, match="are not in any file"):
        slurm_jobs.requeues(launch(more="launch: {with: slurm, extra: [--requeue]}\nsecrets: [TOKEN]\n").run)


def test_the_waiting_job_is_told_by_a_file_that_is_whole_at_once() -> None:
    one = launch(more="launch: {with: slurm}\n")
    one = replace(one, run=replace(one.run, launch=replace(one.run.launch, address="17")))
    scripts = {node.name: f"/nfs/home/runs/r/nodes/{node.name}/start.sh" for node in one.nodes}
    assert slurm.command(replace(one, scripts=scripts))[-2:] == ["/nfs/home/runs/r", "/nfs/home/slurm-17.go"]


REFUSED = "ssh: connect to host 10.0.0.2 port 22: Connection refused"


@pytest.mark.parametrize(
    ("engine", "lines", "node", "saw"),
    [
        (
            pdsh,
            ["10.0.0.2: " + REFUSED, "pdsh@a: 10.0.0.2: ssh exited with exit code 255"],
            "host-b",
            "SSH port",
        ),
        (mpi, [REFUSED, "ORTE was unable to reliably start one or more daemons."], "host-b", "SSH port"),
        (mpi, ["bash: line 1: orted: command not found"], None, "not on its path"),
        (
            mpi,
            ["ORTE has lost communication with a remote daemon.", "  remote host: host-b"],
            "host-b",
            "orted",
        ),
        (pdsh, ['10.0.0.2: {"error":"no space"}'], "host-b", "did not start"),
        (deepspeed, ["10.0.0.2: /x/python: No module named deepspeed"], "host-b", "DeepSpeed is not in"),
        (deepspeed, ["10.0.0.2: " + REFUSED], "host-b", "SSH port"),
        (mpi, ["something new"], None, "something new"),
        (mpi, [], None, "printed nothing"),
    ],
)
def test_a_failure_names_the_node_where_the_engines_words_do(
    engine: ModuleType, lines: list[str], node: str | None, saw: str
) -> None:
    finding = starting.failure(engine.LAUNCHER, lines, launch().nodes, 1)
    assert (finding.id, finding.where.node) == ("engine-failed", node)
    assert saw in finding.saw
    assert finding.id in pages.ids()


@given(st.lists(st.text(max_size=60), max_size=5))
def test_no_output_of_an_engine_breaks_the_naming(lines: list[str]) -> None:
    nodes = (Node("a", "10.0.0.1", 0), Node("a.b", "10.0.0.10", 1))
    finding = starting.failure(mpi.LAUNCHER, lines, nodes, 1)
    assert len(finding.evidence) <= starting.LAST_LINES


def test_an_address_is_not_found_in_a_longer_one() -> None:
    nodes = [Node("a", "10.0.0.1", 0), Node("ab", "10.0.0.10", 1)]
    named = starting.named("cannot reach 10.0.0.10.", nodes)
    assert named is not None and named.name == "ab"


# ---- orders ----


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    # Longer than the 107 bytes that a Unix socket's name may have.
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / ("long" * 30)))
    made = RunDirectory("r")
    made.create(node="a")
    return made


def test_an_order_reaches_the_one_who_waits_and_the_answer_comes_back(directory: RunDirectory) -> None:
    def supervise() -> None:
        awaited = engine_orders.wait("r", "a", seconds=60)
        awaited.answer({"supervisor": awaited.wanted})

    waiting = threading.Thread(target=supervise)
    wanted = {"key": "00" * 32, "secrets": {"TOKEN": "x" * 300_000}, "job": {"env": {"A": "Grüße\n'"}}}
    waiting.start()
    assert engine_orders.hand("r", "a", wanted, seconds=60) == {"supervisor": wanted}
    waiting.join()


def test_the_sockets_name_cannot_be_foretold(directory: RunDirectory) -> None:
    names = set()
    for _ in range(2):
        assert "sent no order" in no_order("r", "a", 0.1)
        names.add(engine_orders.address(directory, "a"))
    assert len(names) == 2 and None not in names
    name = Path(engine_orders.name_file(directory, "a"))
    assert name.stat().st_mode & 0o077 == 0 or name.parent.stat().st_mode & 0o077 == 0
    name.write_text("systemd/private\n")
    assert engine_orders.address(directory, "a") is None


def test_a_second_supervisor_is_told_of_the_first(directory: RunDirectory) -> None:
    waiting = threading.Thread(target=lambda: engine_orders.wait("r", "a", 60).answer({}))
    waiting.start()
    until(lambda: engine_orders.address(directory, "a"), "nobody waits", 60)
    assert "already waits here" in no_order("r", "a", 60)
    assert engine_orders.hand("r", "a", {}, seconds=60) == {}
    waiting.join()


def test_nobody_waits(directory: RunDirectory) -> None:
    with pytest.raises(engine_orders.NoOrder, match="started nothing here within 0 s"):
        engine_orders.hand("r", "a", {}, seconds=0.1)


def test_both_ends_go_when_the_runs_folder_goes(directory: RunDirectory) -> None:
    Path(directory.marker).unlink()
    with pytest.raises(engine_orders.NoOrder, match="called off"):
        engine_orders.wait("r", "a", seconds=60)
    with pytest.raises(engine_orders.NoOrder, match="called off"):
        engine_orders.hand("r", "a", {}, seconds=60)


def test_a_supervisor_that_dies_before_it_is_ready_is_said(directory: RunDirectory) -> None:
    waiting = threading.Thread(target=lambda: engine_orders.wait("r", "a", 60).connection.close())
    waiting.start()
    with pytest.raises(engine_orders.NoOrder, match="ended before it was ready"):
        engine_orders.hand("r", "a", {"key": ""}, seconds=60)
    waiting.join()


def test_another_users_order_is_not_taken(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    looked = threading.Semaphore(0)
    monkeypatch.setattr(engine_orders, "_same_user", lambda connection: looked.release())  # None: it is not
    waiting = threading.Thread(target=lambda: refused.append(no_order("r", "a", 60)))
    waiting.start()
    with pytest.raises(engine_orders.NoOrder, match="another user"):
        engine_orders.hand("r", "a", {"key": "secret"}, seconds=60)
    assert looked.acquire(timeout=60) and looked.acquire(timeout=60), "both ends look"
    Path(directory.marker).unlink()
    waiting.join()
    assert "called off" in refused[0], "it took nothing, and waited on"


def test_an_order_that_never_comes_is_said(directory: RunDirectory) -> None:
    assert "sent no order" in no_order("r", "a", 0.1)


def no_order(run_id: str, node: str, seconds: float) -> str:
    with pytest.raises(engine_orders.NoOrder) as error:
        engine_orders.wait(run_id, node, seconds)
    return str(error.value)
