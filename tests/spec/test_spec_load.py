"""Run file → Run: defaults, paths, places, `--set`, the trainer's YAML, who wins."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks import spec
from allranks.core import BadInput
from allranks.spec import loads
from allranks.spec.start import quoted

SMALLEST = "nodes: node[1-2]\ngpus: 8\ntrain: {llamafactory: {stage: sft, max_steps: 100}}\n"
EXAMPLES = Path(__file__).parents[2] / "examples"


def saws(text, **options):
    with pytest.raises(BadInput) as error:
        loads(text, **options)
    return [problem.saw for problem in error.value.problems]


def test_the_smallest_run_file_has_every_default():
    run = loads(SMALLEST, "my run.yaml")
    assert run.name == "my-run"
    assert run.cluster.world_size == 16
    assert run.train == spec.Train("llamafactory", {"stage": "sft", "max_steps": 100})
    own = ("name", "cluster", "train", "file", "gpus", "lines", "text")
    rest = {k: v for k, v in vars(run).items() if k not in own}
    plain = spec.Run("x", run.cluster, run.train)
    assert rest == {key: getattr(plain, key) for key in rest}
    assert run.text == SMALLEST


def test_the_seeds_run():
    run = spec.load(EXAMPLES / "deepseek-v3-24xa100.yaml")
    assert run.name == "deepseek-v3-lora"
    assert [node.address for node in run.cluster.nodes] == ["10.18.122.130", "10.18.122.131", "10.18.122.132"]
    assert run.cluster.world_size == 24
    assert (run.user, run.gpus) == ("ubuntu", spec.Gpus(8, "A100-SXM4-80GB"))
    assert run.container is not None
    assert run.container.shm_bytes == 16 * 2**30
    assert run.container.pip == ("tensorboard<3", "transformers==4.52.4", "deepspeed==0.18.9")
    assert run.network == spec.Network("auto", 39500, 0, "auto")
    assert run.launch == spec.Launch("ssh")
    arguments = run.train.arguments
    assert (arguments["learning_rate"], arguments["bf16"], arguments["lora_rank"]) == (1e-5, True, 16)
    assert arguments["lora_target"] == "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
    assert run.save == spec.Save("/host_home/runs", 50, 3, "/nfs/adapters")
    assert run.env == {"OMP_NUM_THREADS": "1"}
    assert run.model_config == str(EXAMPLES / "deepseek-v3-24xa100.config.json")
    assert run.notes == ()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_a_run_file(example):
    assert spec.load(example).cluster.nodes


def test_everything_at_once():
    text = """
name: all.of_it-1
nodes: a[1-3]
user: bob
gpus: {count: 2, model: H100}
transport: openssh
container:
  {engine: podman, image: "x/y:1", mounts: ["~/d:/d", "/a:/b:ro,z"], shm: 1.5GB, pip: [a==1],
   extra: {ulimit: [memlock=-1]}}
environment: {python: python3.11, modules: [cuda/12.1], activate: /opt/env/activate}
code: /src
network: {interface: bond0.100, port: 29500, keeper_port: 29501, fabric: ib}
launch: {with: slurm, restarts: 2, standby: true, spares: 1, partition: gpu, account: 0123, time: 24:00:00,
         extra: --exclusive --gres=gpu:8}
train: {command: "train.py --lr 1e-5 'a b'"}
deepspeed: none
save: {to: /o, every: 5, keep: 1, copy_to: ~/c}
env: {A: 1, B: true, C: 1e-5, D: no, E: "", F: "x\\ny", G: 0x10}
secrets: [HF_TOKEN, WANDB_API_KEY]
accept: [port-busy]
resume: auto
alerts: {webhook: "https://x/y", command: [notify, --now]}
sweep: {learning_rate: [1e-5, 5e-5], seed: [1]}
x-anchors: {anything: [goes]}
"""
    run = loads(text, "/etc/r.yaml", accept=["clock-off", "port-busy"])
    assert run.launch == spec.Launch(
        "slurm", 2, True, 1, "gpu", "0123", "24:00:00", None, ("--exclusive", "--gres=gpu:8")
    )
    assert run.container == spec.Container(
        "podman", "x/y:1", ("~/d:/d", "/a:/b:ro,z"), 1_500_000_000, ("a==1",), {"ulimit": ["memlock=-1"]}
    )
    assert run.environment == spec.Environment("python3.11", ("cuda/12.1",), "/opt/env/activate")
    assert run.network == spec.Network("bond0.100", 29500, 29501, "ib")
    assert run.train.command == ("train.py", "--lr", "1e-5", "a b")
    assert run.env == {"A": "1", "B": "true", "C": "1e-5", "D": "no", "E": "", "F": "x\ny", "G": "0x10"}
    assert run.secrets == ("HF_TOKEN", "WANDB_API_KEY")
    assert run.accept == ("port-busy", "clock-off")
    assert run.sweep == {"learning_rate": (1e-5, 5e-5), "seed": (1,)}
    assert run.alerts == {"webhook": "https://x/y", "command": ("notify", "--now")}
    assert (run.deepspeed, run.resume, run.transport, run.code) == ("none", "auto", "openssh", "/src")
    assert run.notes == ()


SIZES = {
    "16GiB": 16 * 2**30,
    "16G": 16 * 2**30,
    "16g": 16 * 2**30,
    "64GB": 64 * 10**9,
    "512MiB": 2**29,
    "0.5 TiB": 2**39,
    "1024": 1024,
    "1kB": 1000,
    "100b": 100,
}


@pytest.mark.parametrize("size", SIZES)
def test_sizes(size):
    run = loads(SMALLEST + f"container: {{image: x, shm: {size}}}")
    assert run.container is not None
    assert run.container.shm_bytes == SIZES[size]


@pytest.mark.parametrize("size", ["16XB", "-1G", "0", "1e9", "9999999999G", "[1]", "true", "1 G i B"])
def test_what_is_no_size(size):
    assert len(saws(SMALLEST + f"container: {{image: x, shm: {size}}}")) == 1


def test_relative_paths_begin_at_the_run_file(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "sft.yaml").write_text("stage: sft\n")
    text = (
        "nodes: a\ntrain: {llamafactory: ../sft.yaml}\ndeepspeed: ds.json\ncode: .\n"
        "environment: {python: env/bin/python}\nsave: {to: out}\n"
    )
    (folder / "r.yaml").write_text(text)
    run = spec.load(folder / "r.yaml")
    assert run.deepspeed == str(folder / "ds.json")
    assert run.code == str(folder)
    assert run.environment.python == str(folder / "env/bin/python")
    assert run.train.source == str(tmp_path / "sft.yaml")
    assert run.save.to == "out"
    here = loads(
        "nodes: a\ntrain: {command: a.py}\ncode: ~/x\nenvironment: {python: python3}\ndeepspeed: ~/d.json\n"
    )
    assert (here.code, here.environment.python, here.deepspeed) == ("~/x", "python3", "~/d.json")


def test_the_models_config_beside_the_run_file(tmp_path):
    file = tmp_path / "r.yaml"
    file.write_text(SMALLEST)
    assert spec.load(file).model_config is None
    (tmp_path / "config.json").write_text("{}")
    assert spec.load(file).model_config == str(tmp_path / "config.json")
    (tmp_path / "r.config.json").write_text("{}")
    assert spec.load(file).model_config == str(tmp_path / "r.config.json")
    file.write_text("nodes: a\ntrain: {command: [a.py]}\n")
    assert spec.load(file).model_config is None


def test_the_place_of_every_key(tmp_path):
    (tmp_path / "sft.yaml").write_text("stage: sft\n\nlora_rank: 8\nlist:\n  - 1\n")
    (tmp_path / "r.yaml").write_text("nodes: [a,\n  b]\ntrain:\n  llamafactory: sft.yaml\nsave: {every: 5}\n")
    run = spec.load(str(tmp_path / "r.yaml"), sets=["train.llamafactory.max_steps=5", "save.keep=9"])
    run_file, sft = str(tmp_path / "r.yaml"), str(tmp_path / "sft.yaml")

    def place(key):
        return (run.where(key).file, run.where(key).line)

    assert place("nodes") == (run_file, 1)
    assert place("nodes.1") == (run_file, 2)
    assert place("train.llamafactory") == (run_file, 4)
    assert place("train.llamafactory.lora_rank") == (sft, 3)
    assert place("train.llamafactory.list.0") == (sft, 5)
    assert place("train.llamafactory.nothing") == (run_file, 4)
    assert place("train.llamafactory.max_steps") == ("--set train.llamafactory.max_steps", None)
    assert place("save.keep") == ("--set save.keep", None)
    assert place("save.every") == (run_file, 5)
    assert place("resume") == (run_file, None)
    assert run.line("train.llamafactory.max_steps") is None
    assert run.line("network.port") is None


def test_sets():
    run = loads(
        SMALLEST,
        sets=["train.llamafactory.max_steps=50", "train.llamafactory.learning_rate=1e-5", "gpus=4", "env.X=no=on",
              "save.to=/x", "nodes=[a, {name: b}]", "nodes.1.gpus=2", "network={port: 29500}", "resume="],
    )  # fmt: skip
    assert run.train.arguments == {"stage": "sft", "max_steps": 50, "learning_rate": 1e-5}
    assert [(n.name, n.gpus) for n in run.cluster.nodes] == [("a", 4), ("b", 2)]
    assert run.env == {"X": "no=on"}
    assert (run.save.to, run.network.port, run.resume) == ("/x", 29500, None)


def test_wrong_sets_are_refused_like_keys_of_the_file():
    with pytest.raises(BadInput) as error:
        loads(
            SMALLEST,
            "r.yaml",
            sets=["netwrok.port=1", "network.prot=1", "network.port=x", "max_steps", "=1", "gpus.x=1", "nodes.0.x=1",
                  "train.llamafactory.a b=1", "a" + ".a" * 2000 + "=1", "save.to=[", "save.every.x=1"],
        )  # fmt: skip
    texts = {p.file: (p.saw, p.do) for p in error.value.problems}
    assert texts["--set netwrok.port"] == ("netwrok: unknown key.", "network")
    assert texts["--set network.prot"] == ("network.prot: unknown key.", "port")
    assert texts["--set network.port"][0] == "network.port: x is not a port."
    assert texts["--set max_steps"] == ("no key=value.", "--set train.llamafactory.max_steps=50")
    assert texts["--set gpus.x"] == ("gpus is 8 and holds no keys.", "--set gpus=…")
    assert texts["--set nodes.0.x"][0] == "nodes is node[1-2] and holds no keys."
    assert texts["--set save.to"][0].startswith("not YAML")
    assert all(p.line is None for p in error.value.problems)


def test_a_set_below_an_alias_changes_one_place():
    text = "x-base: &b {stage: sft, list: [1, 2]}\nnodes: a\ntrain: {llamafactory: *b}\nalerts: {}\n"
    text += "sweep: {a: [1], b: &c [1, 2], c: *c}\n"
    run = loads(text, sets=["train.llamafactory.list.0=9", "sweep.b.1=7"])
    assert run.train.arguments["list"] == [9, 2]
    assert run.sweep == {"a": (1,), "b": (1, 7), "c": (1, 2)}


def test_a_set_can_name_another_trainer_file(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(f"stage: {name}\n")
    (tmp_path / "r.yaml").write_text("nodes: x\ntrain: {llamafactory: a.yaml}\n")
    run = spec.load(tmp_path / "r.yaml", sets=["train.llamafactory=b.yaml", "train.llamafactory.max_steps=5"])
    assert run.train == spec.Train(
        "llamafactory", {"stage": "b", "max_steps": 5}, (), str(tmp_path / "b.yaml")
    )


def test_the_trainers_yaml_is_used_as_it_is(tmp_path):
    (tmp_path / "sft.yaml").write_text(
        "### model\nmodel_name_or_path: /m\ntrust_remote_code: true\n\nstage: sft\nlearning_rate: 1.0e-4\n"
        "lr: 1e-5\nbf16: yes\nddp_timeout: 180000000\nresume_from_checkpoint: null\n"
    )
    (tmp_path / "r.yaml").write_text("nodes: x\ntrain: {llamafactory: sft.yaml}\n")
    assert spec.load(tmp_path / "r.yaml").train.arguments == {
        "model_name_or_path": "/m",
        "trust_remote_code": True,
        "stage": "sft",
        "learning_rate": 1e-4,
        "lr": 1e-5,
        "bf16": "yes",
        "ddp_timeout": 180000000,
        "resume_from_checkpoint": None,
    }


def test_problems_of_the_trainers_yaml_have_its_lines(tmp_path):
    (tmp_path / "sft.yaml").write_text("stage: sft\nlora-rank: 8\nstage: pt\nsave_steps: !!python/none x\n")
    (tmp_path / "r.yaml").write_text("nodes: x\ntrain: {llamafactory: sft.yaml}\ngpu: 8\n")
    with pytest.raises(BadInput) as error:
        spec.load(tmp_path / "r.yaml")
    assert [(Path(p.file).name, p.line) for p in error.value.problems] == [
        ("sft.yaml", 3),
        ("sft.yaml", 4),
        ("r.yaml", 3),
    ]


@pytest.mark.parametrize(
    ("content", "saw"),
    [
        ("", "it is empty."),
        ("- a", "this is a list, not its keys."),
        ("nodes: a\ntrain: {}\n", "is a run file itself."),
        (
            "model: m\npeft_config: {name: lora}\n",
            "sft.yaml is a configuration of LLaMA-Factory's version 1: it has model, not model_name_or_path.",
        ),
        (None, "file not found."),
    ],
)
def test_a_trainers_yaml_that_is_none(tmp_path, content, saw):
    if content is not None:
        (tmp_path / "sft.yaml").write_text(content)
    (tmp_path / "r.yaml").write_text("nodes: x\ntrain:\n  llamafactory: sft.yaml\n")
    with pytest.raises(BadInput) as error:
        spec.load(tmp_path / "r.yaml", sets=["train.llamafactory.max_steps=5"])
    (problem,) = error.value.problems
    assert problem.line == 3
    assert problem.saw.startswith("train.llamafactory: ")
    assert problem.saw.endswith(saw)


def test_where_both_speak_ours_wins_and_a_note_says_so():
    text = """nodes: a
save: {to: /ours, every: 5, keep: 2}
resume: auto
deepspeed: zero3
train:
  llamafactory:
    stage: sft
    output_dir: theirs
    save_steps: 500
    save_total_limit: 9
    save_strategy: epoch
    resume_from_checkpoint: true
    deepspeed: ds.json
"""
    run = loads(text, "r.yaml")
    assert run.train.arguments == {"stage": "sft"}
    assert run.save == spec.Save("/ours", 5, 2)
    assert (run.resume, run.deepspeed) == ("auto", "zero3")
    assert {note.id for note in run.notes} == {"setting-said-twice"}
    assert sorted(note.where.line for note in run.notes) == [8, 9, 10, 11, 12, 13]
    first = next(note for note in run.notes if note.where.line == 8)
    assert first.verdict == "note"
    assert first.saw == "train.llamafactory.output_dir: theirs is not used, since save.to is given."
    assert first.fix == "take output_dir or save.to out"


def test_where_the_trainer_alone_speaks_its_value_is_taken_over(tmp_path):
    (tmp_path / "ds.json").write_text("{}")
    (tmp_path / "sft.yaml").write_text(
        "stage: sft\noutput_dir: saves/x\nsave_steps: 500\nsave_total_limit: 2\nresume_from_checkpoint: true\n"
        "deepspeed: ds.json\n"
    )
    (tmp_path / "r.yaml").write_text("nodes: x\ntrain: {llamafactory: sft.yaml}\n")
    run = spec.load(tmp_path / "r.yaml")
    assert run.train.arguments == {"stage": "sft", "resume_from_checkpoint": True}
    assert run.save == spec.Save("saves/x", 500, 2)
    assert (run.resume, run.deepspeed) == ("auto", str(tmp_path / "ds.json"))
    assert run.notes == ()
    assert (run.where("save.to").file, run.where("save.to").line) == (str(tmp_path / "sft.yaml"), 2)
    assert run.where("deepspeed").line == 6


def test_saving_by_epoch_stays_the_trainers():
    run = loads("nodes: x\ntrain: {llamafactory: {save_strategy: epoch, save_steps: 0.1}}")
    assert run.train.arguments == {"save_strategy": "epoch", "save_steps": 0.1}
    assert run.save.every is None


def test_variables_that_torchrun_sets_are_left_out_and_said():
    text = "nodes: x\nenv:\n  WORLD_SIZE: 24\n  NCCL_DEBUG: WARN\n  NCCL_SOCKET_IFNAME: eth0\ntrain: {command: a.py}\n"
    run = loads(text, "r.yaml")
    assert run.env == {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0"}
    assert [(note.id, note.where.line) for note in run.notes] == [("setting-said-twice", 3)]
    run = loads(text, "r.yaml", sets=["network.interface=ib0"])
    assert run.env == {"NCCL_DEBUG": "WARN"}
    assert [note.where.line for note in run.notes] == [3, 5]


def test_keys_that_the_launcher_does_not_read_are_noted():
    run = loads(SMALLEST + "launch: {partition: gpu, address: auto}")
    assert [(n.id, n.saw) for n in run.notes] == [
        ("setting-unread", "launch.partition: not used with ssh."),
        ("setting-unread", "launch.address: not used with ssh."),
    ]


COMMANDS = {
    "[train.py, --lr, 1e-5, true, '']": ("train.py", "--lr", "1e-5", "true", ""),
    "train.py --x 'a b'": ("train.py", "--x", "a b"),
    "[-m, pkg.train, -x]": ("-m", "pkg.train", "-x"),
    "[train]": ("train",),
    '["train.py", "a\\nb", "$HOME;`id`"]': ("train.py", "a\nb", "$HOME;`id`"),
}
DROPPED = {
    "python train.py": ("train.py",),
    "/usr/bin/python3.11 -u -O train.py -u": ("train.py", "-u"),
    "python -m pkg.train": ("-m", "pkg.train"),
    "torchrun train.py": ("train.py",),
    "torchrun --nnodes=1 --nproc_per_node 8 --standalone -m pkg --nnodes 1": ("-m", "pkg", "--nnodes", "1"),
    "python -m torch.distributed.run --master_port=39500 a.py": ("a.py",),
    "/opt/bin/torchrun --rdzv-endpoint h:1 a.py": ("a.py",),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command):
    run = loads(
        f"nodes: a\ntrain: {{command: {command}}}"
        if command[0] == "["
        else f'nodes: a\ntrain: {{command: "{command}"}}'
    )
    assert run.train == spec.Train("command", command=COMMANDS[command])
    assert run.notes == ()


@pytest.mark.parametrize(
    ("text", "on_cpu", "form"),
    [
        ("gpus: {count: 2, model: cpu}\ntrain: {command: a.py}\n", True, "gpus: {count: 2, model: cpu}"),
        ("gpus: {count: 2, model: CPU}\ntrain: {command: a.py}\n", True, "gpus: {count: 2, model: cpu}"),
        ("gpus: 8\ntrain: {command: a.py}\n", False, "gpus: {count: 8, model: cpu}"),
        ("train: {command: a.py}\n", False, "gpus: {count: 1, model: cpu}"),
        ("train: {llamafactory: {stage: sft}}\n", False, "use_cpu: true under train.llamafactory"),
        (
            "train: {llamafactory: {stage: sft, use_cpu: true}}\n",
            True,
            "use_cpu: true under train.llamafactory",
        ),
    ],
)
def test_training_on_cpus_is_asked_for_by_name(text, on_cpu, form):
    run = loads("nodes: a\n" + text)
    assert (run.on_cpu, run.cpu_form) == (on_cpu, form)


@pytest.mark.parametrize("command", DROPPED)
def test_a_launcher_before_the_script_is_dropped_and_said(command):
    run = loads(f"nodes: a\ntrain:\n  command: {command}\n", "r.yaml")
    assert run.train.command == DROPPED[command]
    (note,) = run.notes
    assert (note.id, note.verdict, note.where.line) == ("launcher-dropped", "note", 3)


WRONG_COMMANDS = {
    "''": "it names no script.",
    "[]": "it names no script.",
    "python": "it names no script.",
    "torchrun --nnodes 2": "it names no script.",
    "sudo -E": "the command contains sudo -E.",
    "conda run -n sft": "it names no script.",
    "conda install torch": "the command contains conda install torch.",
    "horovodrun -np 2 train.py": "horovodrun starts ranks itself.",
    "torchrun --no-python a.sh": "torchrun --no-python.",
    "[--lr, train.py]": "--lr is not a script.",
    "[-m]": "-m without a module's name.",
    "{a: 1}": "this is a mapping.",
    '"it\'s"': "a quote or a bracket is never closed.",
}


@pytest.mark.parametrize("command", WRONG_COMMANDS)
def test_wrong_commands(command):
    assert saws(f"nodes: a\ntrain:\n  command: {command}\n") == [f"train.command: {WRONG_COMMANDS[command]}"]


def test_hostile_values_arrive_as_they_are():
    hostile = [
        "$(id)",
        "`id`",
        "a;b",
        "a\nb",
        "a\x1b[31m",
        "'\"",
        "\\",
        "{}[],&*#?|-<>=!%@",
        " ",
        "é\U0001f600",
        "\x7f",
    ]
    text = "nodes: a\nenv:\n" + "".join(f"  V{n}: {quoted(v)}\n" for n, v in enumerate(hostile))
    text += "train: {command: [a.py, " + ", ".join(map(quoted, hostile)) + "]}\n"
    run = loads(text)
    assert list(run.env.values()) == hostile
    assert run.train.command == ("a.py", *hostile)


def test_infinite_and_huge_numbers_are_no_settings():
    for value in ("1e999", ".inf", ".nan", "8.0", "8e0", "true", "-1", "'8x'", "1" * 90):
        assert len(saws(SMALLEST + f"save: {{every: {value}}}")) == 1
    assert loads(SMALLEST + "save: {every: '8'}").save.every == 8
    assert math.isinf(loads("nodes: a\ntrain: {llamafactory: {x: .inf}}").train.arguments["x"])


class TestFiles:
    def problem(self, path):
        with pytest.raises(BadInput) as error:
            spec.load(path)
        (problem,) = error.value.problems
        return problem

    def test_missing(self, tmp_path):
        path = str(tmp_path / "r.yaml")
        assert str(self.problem(path)) == f"{path}  file not found.\n  fix  the path of a file that exists"

    def test_a_folder(self, tmp_path):
        assert self.problem(tmp_path).saw == "a folder, not a file."

    def test_a_pipe_and_a_device(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        assert self.problem(tmp_path / "pipe").saw == "a device or a pipe, not a file."
        assert self.problem("/dev/zero").saw == "a device or a pipe, not a file."

    def test_a_loop_of_links_and_long_names(self, tmp_path):
        (tmp_path / "loop").symlink_to("loop")
        assert self.problem(tmp_path / "loop").saw.startswith("it cannot be read: Too many levels")
        assert self.problem(tmp_path / ("x" * 300)).saw.startswith("it cannot be read: File name too long")
        assert self.problem("a\0b").saw == "its path holds a NUL character."

    def test_not_allowed(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("allranks.spec.text.os.open", refuse)
        assert self.problem(tmp_path / "r").saw == "it may not be read by this user."

    @pytest.mark.parametrize(
        ("data", "line", "saw"),
        [
            (b"", None, "it is empty."),
            (b"# only a comment\n", None, "it is empty."),
            (b"nodes: a\n\0", 2, "a NUL byte: this is a binary file, or UTF-16 without its mark."),
            ("nodes: a".encode("utf-16"), None, "it is written in UTF-16."),
            (b"nodes: a\nname: \xe9\n", 2, "byte 0xe9 is not UTF-8."),
            (b"- a\n", 1, "this is a list, not the run file's keys."),
            (b"x" * (2 << 20), None, "2,097,152 bytes; at most 1,048,576 are read."),
            (b"\x1f\x8b\x08\x00abc", 1, "a NUL byte: this is a binary file, or UTF-16 without its mark."),
        ],
    )
    def test_contents(self, tmp_path, data, line, saw):
        (tmp_path / "r.yaml").write_bytes(data)
        problem = self.problem(tmp_path / "r.yaml")
        assert (problem.line, problem.saw) == (line, saw)

    def test_a_byte_order_mark_is_fine(self, tmp_path):
        (tmp_path / "r.yaml").write_bytes(b"\xef\xbb\xbf" + SMALLEST.encode().replace(b"\n", b"\r\n"))
        assert spec.load(tmp_path / "r.yaml").cluster.world_size == 16


def test_loading_imports_only_what_it_needs():
    """A fresh interpreter: `import allranks.spec` leaves YAML alone, reading a run file all that is not for it."""
    program = (
        "import sys\nfrom allranks import spec\n"
        "assert not {'yaml', 'difflib', 'ipaddress'} & set(sys.modules)\n"
        f"spec.load({str(EXAMPLES / 'deepseek-v3-24xa100.yaml')!r})\n"
        "assert not {'asyncssh', 'asyncio', 'rich', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "port"), [("", 0), ("network: {port: auto}\n", 0), ("network: {port: 29500}\n", 29500)]
)
def test_the_rendezvous_port_is_automatic_unless_one_is_named(text, port):
    run = spec.loads("name: t\nnodes: localhost\ntrain: {command: [a.py]}\n" + text)

    assert (run.network.port, run.network.rendezvous_port) == (port, port or 39500)
