"""The rendered scripts are executed: every argument and every variable arrives as it was written."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allranks.spec import Container, Train

pytestmark = pytest.mark.lengthy

TORCHRUN = ("torchrun", "slurm", "mpi", "pdsh", "deepspeed", "ray", "flux")
STARTS = {
    "slurm": ("bash", "job.sbatch"),
    "mpi": ("./mpirun.sh",),
    "pdsh": ("./pdsh.sh",),
    "deepspeed": ("./deepspeed.sh",),
    "flux": ("./flux.sh",),
    "ray": ("/usr/bin/python3", "job.py"),
}
PATHS = {"output_dir": "runs/hostile/output", "deepspeed": "deepspeed.json"}
TARGETS = (*TORCHRUN, "accelerate", "mpi-ranks")
NAMES = (
    "A",
    "_B1",
    "IFS",
    "UID",
    "SECONDS",
    "here",
    "node",
    "self",
    "arguments",
    "environment",
    "PS4",
    "RANDOM",
)

settings.register_profile("scripts", max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def values(nasty):
    return st.one_of(st.sampled_from(nasty), text)


def start(stage, target: str, run) -> None:
    """Starts what a person would start."""
    if target in ("torchrun", "accelerate"):
        done = [stage.start("bash", f"node-{n}.sh", HF_TOKEN="secret") for n in range(len(run.cluster.nodes))]
    else:
        words = ("./mpirun-ranks.sh",) if target == "mpi-ranks" else STARTS[target]
        slurm = {"SLURM_SUBMIT_DIR": str(stage.folder), "SLURM_JOB_NODELIST": "x[1-2]"}
        env = {"HF_TOKEN": "secret", "SENT_TOKEN": "secret", **(slurm if target == "slurm" else {})}
        done = [stage.start(*words, **env)]
    assert [one.returncode for one in done] == [0] * len(done), [one.stderr for one in done]


def expected_words(stage, target: str, run, node, words: tuple[str, ...]) -> tuple[str, ...]:
    """allranks' own words, but for what the launcher decides: it replaces torchrun, or it names the head."""
    script = words[words.index("--max-restarts=0") + 1 :]
    if target == "mpi-ranks":
        return ("-u", *script)
    if target == "accelerate":
        return (
            "-m",
            "accelerate.commands.launch",
            f"--config_file={stage.folder}/node-{node.rank}.yaml",
            *script,
        )
    head = {"slurm": "first-host"}.get(target, run.cluster.head.address)
    return tuple(f"--master-addr={head}" if w.startswith("--master-addr=") else w for w in words)


def check(stage, target: str, run) -> None:
    stage.write(target.partition("-")[0], run)
    start(stage, target, run)
    arrived = stage.arrived()
    nodes = run.cluster.nodes
    if target == "mpi-ranks":
        nodes = tuple(node for node in nodes for _ in range(node.gpus))
    assert len(arrived) == len(nodes)
    for place, (one, node) in enumerate(zip(arrived, nodes, strict=True)):
        words, env = stage.expected(run, node)
        assert one.words == expected_words(stage, target, run, node, words)
        assert {name: one.env.get(name) for name in env} == env
        if target == "mpi-ranks":
            wanted = {"RANK": place, "LOCAL_RANK": place % 2, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 2}
            assert {name: one.env[name] for name in wanted} == {n: str(v) for n, v in wanted.items()}
            assert (one.env["MASTER_ADDR"], one.env["MASTER_PORT"]) == ("10.0.0.1", "39500")


@pytest.mark.parametrize("target", TARGETS)
def test_every_nasty_value_arrives(module_stage, make, nasty, needs, target: str) -> None:
    if target in ("pdsh", "deepspeed"):
        needs("pdsh")
    env = {f"V{place}": value for place, value in enumerate(nasty)} | dict(
        zip(NAMES, nasty[1:], strict=False)
    )
    own = {} if target == "slurm" else {"OWN": "it's\n$HOME", "V3": "of beta"}
    check(module_stage, target, make(nasty, env, own))


@pytest.mark.seldom
@pytest.mark.parametrize("target", TARGETS)
def test_any_value_arrives(module_stage, make, nasty, needs, target: str) -> None:
    if target in ("pdsh", "deepspeed"):
        needs("pdsh")
    value = values(nasty)

    @settings(settings.get_profile("scripts"))
    @given(
        arguments=st.lists(value, max_size=6),
        env=st.dictionaries(st.sampled_from(NAMES), value, max_size=6),
        own=st.dictionaries(st.sampled_from(NAMES), value, max_size=2),
    )
    def arrives(arguments, env, own) -> None:
        check(module_stage, target, make(arguments, env, {} if target == "slurm" else own))

    arrives()


def test_the_trainers_arguments_are_allranks_own(stage, make) -> None:
    run = replace(
        make(), train=Train("llamafactory", arguments={"dataset": "it's", "note": "$x\n-y", "use_cpu": True})
    )
    stage.write("torchrun", run)
    start(stage, "torchrun", run)
    [first, _] = stage.arrived()
    words, _ = stage.expected(run, run.cluster.head)
    folder = f"{stage.folder}/runs/{run.name}/nodes/alpha"
    assert words[-2:] == ("llamafactory.launcher", f"{folder}/arguments.yaml")
    ours = f"{stage.folder}/arguments.yaml"
    late = [f"{name}={stage.folder}/{below}" for name, below in PATHS.items()]
    assert first.words == (*words[:-1], ours, *late)
    told = yaml.safe_load((stage.folder / "arguments.yaml").read_text())
    assert (told["dataset"], told["note"], told["use_cpu"]) == ("it's", "$x\n-y", True)
    assert (stage.folder / "deepspeed.json").is_file()


def test_arguments_of_a_command_line_stay_words(stage, make) -> None:
    train = Train("llamafactory", arguments={"dataset": "it's", "use_cpu": True}, as_words=True)
    run = replace(make(), train=train)
    stage.write("torchrun", run)
    start(stage, "torchrun", run)
    [first, _] = stage.arrived()
    assert f"--deepspeed={stage.folder}/deepspeed.json" in first.words and "--dataset=it's" in first.words
    assert not (stage.folder / "arguments.yaml").exists()


@pytest.mark.parametrize("target", ["torchrun", "slurm", "mpi", "pdsh", "ray", "accelerate"])
def test_values_arrive_in_a_container(stage, make, nasty, needs, target: str) -> None:
    if target == "pdsh":
        needs("pdsh")
    container = Container("docker", "org/image:1", mounts=("~/data:/data", "/a b:/c"), shm_bytes=1 << 30)
    container = replace(
        container, extra={"cap-add": ["IPC_LOCK", "$(id)"], "privileged": True, "init": False}
    )
    run = replace(make(nasty, {"V": "a\n'b'"}, secrets=("HF_TOKEN",)), container=container)
    stage.write(target, run)
    start(stage, target, run)
    for one, node in zip(stage.arrived(), run.cluster.nodes, strict=True):
        words, env = stage.expected(run, node)
        assert one.words == expected_words(stage, target, run, node, words)
        assert one.env["V"] == env["V"]
        assert one.env["HF_TOKEN"] == "secret"


def test_a_sweep_starts_each_index_with_its_own_values(stage, make) -> None:
    sweep = {"lr": (1e-5, 5e-5), "note": ("it's $x", "a\nb,c")}
    run = make(["--seed=1"], sweep=sweep, launch="slurm")
    stage.write("slurm", run)
    found = []
    for index in range(4):
        (stage.folder / "runs" / f"hostile-{index}").mkdir()
        done = stage.start(
            *STARTS["slurm"],
            SLURM_SUBMIT_DIR=str(stage.folder),
            SLURM_JOB_NODELIST="x[1-2]",
            SLURM_ARRAY_TASK_ID=str(index),
        )
        assert done.returncode == 0, done.stderr
        [first, second] = stage.arrived()
        assert first.env["ALLRANKS_OUTPUT_DIR"] == f"{stage.folder}/runs/hostile-{index}/output"
        assert first.words[-4:] == second.words[-4:]
        found.append(first.words[-2:])
        assert first.words[-4:-2] == ("train.py", "--seed=1")
    assert found == [
        ("--lr=1e-05", "--note=it's $x"),
        ("--lr=1e-05", "--note=a\nb,c"),
        ("--lr=5e-05", "--note=it's $x"),
        ("--lr=5e-05", "--note=a\nb,c"),
    ]


@pytest.mark.seldom
def test_any_swept_value_arrives_at_its_index(module_stage, make, nasty) -> None:
    """The array's index picks one value of each argument; whatever stands in them arrives on every node."""
    stage = module_stage

    @settings(settings.get_profile("scripts"))
    @given(
        sweep=st.dictionaries(
            st.sampled_from(("lr", "note", "seed", "path")),
            st.lists(values(nasty), min_size=1, max_size=2),
            max_size=3,
        ),
        arguments=st.lists(values(nasty), max_size=3),
    )
    def arrives(sweep, arguments) -> None:
        run = make(arguments, sweep={name: tuple(found) for name, found in sweep.items()}, launch="slurm")
        stage.write("slurm", run)
        wanted = [
            tuple(f"--{name}={value}" for name, value in zip(sweep, chosen, strict=True))
            for chosen in itertools.product(*sweep.values())
        ]
        for index, words in enumerate(wanted):
            (stage.folder / "runs" / f"hostile-{index}").mkdir(exist_ok=True)
            slurm = {"SLURM_SUBMIT_DIR": str(stage.folder), "SLURM_JOB_NODELIST": "x[1-2]"}
            done = stage.start(*STARTS["slurm"], **slurm, SLURM_ARRAY_TASK_ID=str(index))
            assert done.returncode == 0, done.stderr
            found = stage.arrived()
            assert len(found) == 2
            for one in found:
                assert one.words[one.words.index("train.py") :] == ("train.py", *arguments, *words)

    arrives()


def test_swept_keys_leave_the_trainers_common_arguments(stage, make) -> None:
    train = Train("llamafactory", arguments={"learning_rate": 1e-4, "use_cpu": True})
    run = replace(make(sweep={"learning_rate": (1e-5,)}, launch="slurm"), train=train)
    stage.write("slurm", run)
    assert "learning_rate" not in (stage.folder / "arguments.yaml").read_text()
    assert "0) arguments+=(learning_rate=1.0e-05) ;;" in (stage.folder / "sweep.sh").read_text()


@pytest.mark.parametrize("target", TARGETS)
def test_a_missing_secret_stops_the_start_and_no_file_holds_one(
    stage, make, monkeypatch, needs, target: str
) -> None:
    if target in ("pdsh", "deepspeed"):
        needs("pdsh")
    monkeypatch.setenv("HF_TOKEN", "canary-7f3a")
    run = make(secrets=("HF_TOKEN",))
    stage.write(target.partition("-")[0], run)
    for path in stage.folder.rglob("*"):
        assert not path.is_file() or b"canary-7f3a" not in path.read_bytes()
    with pytest.raises(AssertionError, match="export HF_TOKEN"):
        start_without_secret(stage, target, run)
    assert stage.arrived() == []
    start(stage, target, run)
    assert {one.env["HF_TOKEN"] for one in stage.arrived()} == {"secret"}


def start_without_secret(stage, target: str, run) -> None:
    original = stage.start
    stage.start = lambda *words, **env: original(*words, **{k: v for k, v in env.items() if "TOKEN" not in k})
    try:
        start(stage, target, run)
    finally:
        stage.start = original


@pytest.mark.parametrize("target", ["pdsh", "deepspeed"])
def test_a_folder_that_a_remote_shell_would_split_is_refused(stage, make, target: str) -> None:
    stage.folder = stage.folder.parent / "two words; id"
    stage.write(target, make())
    done = stage.start(*STARTS[target])
    assert done.returncode == 2
    assert "move the folder" in done.stderr


def test_a_folder_with_any_name_works_elsewhere(stage, make, nasty) -> None:
    stage.folder = stage.folder.parent / "it's $(id) a\nb"
    for target in ("torchrun", "slurm", "mpi", "mpi-ranks", "accelerate"):
        check(stage, target, make(nasty))


def test_the_real_mpirun_keeps_order_and_values(stage, make, nasty, needs) -> None:
    needs("mpirun")
    stage.remove_stub("mpirun")
    from allranks.core import Node

    nodes = (Node("alpha", "localhost", 0), Node("beta", "localhost", 1))
    run = make(nasty, {"V": "a\n'b'; $x"}, {"OWN": "beta's"}, nodes=nodes, same_host=True)
    stage.env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    check(stage, "mpi", replace(run, secrets=("HF_TOKEN",)))


@pytest.mark.training
def test_the_real_deepspeed_launcher_starts_every_node(stage, make, nasty, needs) -> None:
    """DeepSpeed's own launcher and pdsh; the hosts are stand-ins, as is the Python that torchrun would be of."""
    needs("pdsh")
    (stage.bin / "deepspeed").write_text(
        f"#!{sys.executable}\nfrom deepspeed.launcher.runner import main\nmain()\n"
    )
    stage.env |= {"DS_ACCELERATOR": "cpu", "PATH": f"{stage.bin}:{stage.env['PATH']}"}
    env = {f"V{place}": value for place, value in enumerate(nasty)} | {
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_HCA": "=mlx5_0:1",
    }
    run = make(nasty, env, {"OWN": "it's\n$HOME"}, secrets=("HF_TOKEN",))
    stage.write("deepspeed", run)
    start(stage, "deepspeed", run)
    arrived = stage.arrived()
    assert len(arrived) == len(run.cluster.nodes)
    for one, node in zip(arrived, run.cluster.nodes, strict=True):
        words, wanted = stage.expected(run, node)
        assert one.words == words
        assert {name: one.env.get(name) for name in wanted} == wanted
        assert "CUDA_VISIBLE_DEVICES" not in one.env, "DeepSpeed sets it by its one slot"


def test_the_trainers_own_save_gathers(stage, make) -> None:
    """allranks saves without it; the trainer's own save on transformers 4 writes an adapter of no tensor."""
    arguments = {"dataset": "d", "finetuning_type": "lora", "use_cpu": True}
    run = replace(make(), train=Train("llamafactory", arguments=arguments))
    stage.write("torchrun", run)
    zero = json.loads((stage.folder / "deepspeed.json").read_text())["zero_optimization"]
    assert (zero["stage"], zero["stage3_gather_16bit_weights_on_model_save"]) == (3, True)
    assert "collects the whole model" in (stage.folder / "README.md").read_text()
