"""What LLaMA-Factory is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from allranks.core import Cluster, Node
from allranks.plan import trainer
from allranks.spec import Gpus, Launch, Run, Save, Train


def run_with(launch: str = "local", save: Save | None = None, file: str | None = None, **arguments) -> Run:
    return Run(
        name="r",
        cluster=Cluster((Node("n", "127.0.0.1", 0),)),
        train=Train("llamafactory", arguments=arguments),
        launch=Launch(with_=launch),
        save=save or Save(),
        file=file,
    )


def test_ours_win_over_the_users_where_both_speak() -> None:
    run = run_with(save=Save(every=7), output_dir="/theirs", save_steps=3, deepspeed="/theirs.json")
    told = trainer.arguments(run, {}, "/ours", "/ours.json")
    assert told["output_dir"] == "/ours"
    assert told["deepspeed"] == "/ours.json"
    assert (told["save_strategy"], told["save_steps"]) == ("steps", 7)


def test_the_trainers_own_saving_stays_where_the_run_file_is_silent() -> None:
    assert trainer.arguments(run_with(save_steps=3), {}, "/o", None)["save_steps"] == 3


def test_the_plans_arguments_come_between() -> None:
    told = trainer.arguments(run_with(lora_rank=8), {"lora_rank": 16}, "/o", None)
    assert told["lora_rank"] == 16


def test_relative_paths_mean_the_run_files_folder_on_this_machine_alone(tmp_path: Path) -> None:
    file = str(tmp_path / "sub" / "run.yaml")
    here = run_with(file=file, model_name_or_path="../model")
    assert trainer.arguments(here, {}, "/o", None)["model_name_or_path"] == str(tmp_path / "model")
    there = replace(here, launch=Launch(with_="ssh"))
    assert trainer.arguments(there, {}, "/o", None)["model_name_or_path"] == "../model"
    hub = run_with(file=file, model_name_or_path="org/model")
    assert trainer.arguments(hub, {}, "/o", None)["model_name_or_path"] == "org/model"


def test_cpus_asked_for_in_the_run_file_are_told_to_the_trainer() -> None:
    """Else transformers refuses bf16 on a machine without a GPU."""
    on_cpu = replace(run_with(), gpus=Gpus(2, "cpu"))
    assert trainer.arguments(on_cpu, {}, "/o", None)["use_cpu"] is True
    assert "use_cpu" not in trainer.arguments(run_with(), {}, "/o", None)


def test_a_value_stays_as_the_user_wrote_it_unless_it_is_another_one() -> None:
    written = {"a": (1e-4, "1.0e-4"), "b": (True, "yes"), "c": (8, "0x8"), "d": (None, "~")}
    run = replace(run_with(), train=Train("llamafactory", written=written))
    told = trainer.file_text(run, {"a": 1e-4, "b": 1, "c": 9, "d": None, "e": "x: y"})
    assert told == 'a: 1.0e-4\nb: 1\nc: 9\nd: ~\ne: "x: y"\n'


def test_every_value_is_one_word() -> None:
    words = trainer.words(
        {
            "a": "--rm -rf",
            "b": True,
            "c": 1e-5,
            "d": ["x", "y"],
            "e": None,
            "f": {"k": "v w"},
            "report_to": ["tensorboard", "wandb"],
            "g": "$HOME\n`id`",
        }
    )
    assert words == [
        "--a=--rm -rf",
        "--b=true",
        "--c=1e-05",
        "--d=x,y",
        '--f={"k": "v w"}',
        "--report_to",
        "tensorboard",
        "wandb",
        "--g=$HOME\n`id`",
    ]


def test_a_variable_of_a_shell_script_comes_as_a_word_after_the_file() -> None:
    """YAML would keep `$HOME` as it is; the shell fills it in where it is a word."""
    run = run_with(a=1)
    words, files = trainer.started(run, {"a": 1, "b": "x\0HOME\0", "c": "y"}, "/run")
    assert words == ["/run/arguments.yaml", "b=x\0HOME\0"] and files == {"arguments.yaml": 'a: 1\nc: "y"\n'}
    as_words = replace(run, train=replace(run.train, as_words=True))
    assert trainer.started(as_words, {"a": 1, "c": "y"}, "/run") == (["--a=1", "--c=y"], {})
