"""Accelerate: one configuration per node, and the command that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core import Node
from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import HERE, at_home
from allranks.launch.scripts._readme import readme
from allranks.spec.launchers import Launcher


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "accelerate")
    _shell.no_sweep(job, "accelerate")
    _shell.same_gpus(job, "accelerate")
    if job.deepspeed is None and not job.uses_gpu and len(job.plan.ranks) > 1:
        raise job.run.refuse(
            "train",
            f"{len(job.plan.ranks)} ranks on CPUs without DeepSpeed.",
            "accelerate launch starts one process for them unless MPI is there too.",
            "--render torchrun or mpi",
        )
    files: dict[str, File] = {}
    for place, node in enumerate(job.nodes):
        files[f"node-{place}.yaml"] = File(configuration(job, node))
        files[f"node-{place}.sh"] = File(script(job, node, place), SCRIPT)
    lines = "\n".join(f"bash node-{place}.sh    # on {node.name}" for place, node in enumerate(job.nodes))
    how = f"```sh\n{lines}\n```\n\nEach runs `accelerate launch` with the configuration of its node.\n"
    return {**files, **_shell.common_files(job), **readme(job, "Accelerate", how)}


def configuration(job: ScriptJob, node: Node) -> str:
    """The configuration file, with the keys of Accelerate 1.11 (commands/config/config_args.py). Precision and batch
    are only in deepspeed.json, since Accelerate refuses them in both places."""
    import yaml

    ranks = len(job.plan.ranks)
    config: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": "DEEPSPEED" if job.deepspeed is not None else "NO" if ranks == 1 else "MULTI_GPU",
        "machine_rank": node.rank,
        "main_process_ip": job.run.cluster.head.address,
        "main_process_port": job.run.network.rendezvous_port,
        "main_training_function": "main",
        "num_machines": len(job.nodes),
        "num_processes": ranks,
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": not job.uses_gpu,
    }
    if job.deepspeed is not None:
        config["deepspeed_config"] = {
            # Relative to the folder where accelerate starts; the script uses the full path.
            "deepspeed_config_file": "deepspeed.json",
            "deepspeed_multinode_launcher": "standard",
            "zero3_init_flag": (job.plan.deepspeed or {}).get("zero_optimization", {}).get("stage") == 3,
        }
    return yaml.safe_dump(config, sort_keys=True)


def script(job: ScriptJob, node: Node, place: int) -> str:
    name = f"node-{place}.sh"
    text = _shell.start(_shell.node_says(job, node, place)) + f"self=$here/{name}\nnode={place}\n"
    words = [
        at_home(job.python),
        "-m",
        "accelerate.commands.launch",
        f"--config_file={HERE}/node-{place}.yaml",
    ]
    if job.deepspeed is not None:
        words.append(f"--deepspeed_config_file={HERE}/deepspeed.json")
    return text + _shell.SOURCE_COMMON + "\n" + _shell.command(words)


LAUNCHER = Launcher(
    name="accelerate",
    says="Accelerate's configuration and command, one per node.",
    starts=False,
    render=render,
)
