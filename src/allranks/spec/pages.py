"""The pages of the notes that reading a run file makes."""

from __future__ import annotations

from allranks.core.pages import Page, parse

PAGES = {
    "setting-said-twice": """A setting is given in two places, and one of the two values is not used.

## How it is found
LLaMA-Factory's output_dir, save_steps, save_strategy, save_total_limit, resume_from_checkpoint and deepspeed
against save, resume and deepspeed of the run file; the variables in env that torchrun sets for every rank
(RANK, WORLD_SIZE, MASTER_ADDR, …), and NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME if network.interface
names an interface.

## Why it matters
Only one value can be used. The run file's save, resume, deepspeed and network win over the trainer's own keys.

## What to do
Remove one of the two; the note names the line of the one that is not used.

Topic: settings
""",
    "setting-unread": """A key of launch that the chosen launcher does not read.

## How it is found
launch.partition, launch.account and launch.time, which only SLURM reads, and launch.address, which only Ray
reads, against launch.with.

## Why it matters
The key has no effect: a time limit, for example, is not applied.

## What to do
A launcher that reads it (docs/run-file.md lists them), or take the key out.

Topic: settings
""",
    "launcher-dropped": """A launcher before the training script was left out; its options became keys.

## How it is found
The first words of train.command, or of the command after `--`: variables, python, and the launchers of
docs/commands.md with their options.

## Why it matters
allranks starts torchrun on every node, with the training environment's own Python. Nodes, ranks, ports and
variables of the command are used if the run file does not have those keys.

## What to do
Nothing. The note prints the keys and the equivalent command; --save-as writes them to a run file.

Topic: settings
""",
    "deepspeed-added": """LLaMA-Factory's command names no DeepSpeed configuration, and the run trains with ZeRO-3.

## How it is found
LLaMA-Factory's arguments in train.command, or in the command after `--`, hold neither `deepspeed` nor `fsdp`, and the
run file has no key `deepspeed`.

## Why it matters
The default of the key `deepspeed` is `auto`: ZeRO-3, filled in by the planner. The same command behind torchrun alone
trains with DDP, where each rank holds all parameters. ZeRO-3 needs DeepSpeed in the training environment, less memory
and more traffic.

## What to do
Nothing, if the model is large. `deepspeed: none` trains with DDP; on the command line: `--set deepspeed=none`.

Topic: settings
""",
    "launcher-contradicts": """A launcher in the command contradicts another setting.

## How it is found
Machines, ranks, tasks, ports and variables in the options of the launchers in train.command, against each other,
against the run file's own keys, and against the nodes that the run has.

## Why it matters
Only one value can be used. A key in the run file wins; otherwise the first launcher does.

## What to do
Remove one of the two.

Topic: settings
""",
    "shell-left-out": """A part of a pasted command or script was not taken over.

## How it is found
Redirections, pipes and `&` around the training command; in a script also commands that are not part of the training,
and variables whose value only a shell would find out.

## Why it matters
No shell runs on the nodes. Each rank has its own log, and a run continues without its terminal.

## What to do
Follow the note; what has to happen before the training is done by hand, or by the script itself.

Topic: settings
""",
    "gpus-not-said": """The number of GPUs per node is not given, so that each node trains with one.

## How it is found
A command or LLaMA-Factory YAML on the command line that names other machines, without --gpus, and without a launcher
that counts ranks. Or a launcher counts machines or ranks by a value that only a shell knows (`$NNODES`, the output of
`nvidia-smi -L | wc -l`), or by the GPUs that it finds, and this machine has none.

## Why it matters
The other GPUs of the nodes would stay idle.

## What to do
--gpus N.

Topic: settings
""",
}

SOURCE = "The run file and the command line."


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> Page:
    """The page of an id. Raises KeyError for an unknown one."""
    return parse(name, PAGES[name], source=SOURCE)
