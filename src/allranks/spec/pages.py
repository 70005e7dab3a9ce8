"""The pages of the notes that reading a run file makes."""

from __future__ import annotations

PAGES = {
    "setting-said-twice": """One setting stands in two places, and one of them is not used.

What it looks at
  LLaMA-Factory's output_dir, save_steps, save_strategy, save_total_limit, resume_from_checkpoint and deepspeed
  against save, resume and deepspeed of the run file; the variables in env that torchrun sets for every rank
  (RANK, WORLD_SIZE, MASTER_ADDR, …), and NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME where network.interface
  names an interface.

Why it matters
  Only one value can hold. The run file's save, resume, deepspeed and network win over the trainer's own keys.

What to do
  Take one of the two out; the note names the line of the one that is not used.
""",
    "setting-unread": """A key of launch that the chosen launcher does not read.

What it looks at
  launch.partition, launch.account and launch.time, which only SLURM reads, and launch.address, which only Ray
  reads, against launch.with.

Why it matters
  The key has no effect: a time limit, for one, is not kept.

What to do
  A launcher that reads it (docs/run-file.md lists them), or take the key out.
""",
    "launcher-dropped": """A python or torchrun before the training script was left out.

What it looks at
  The first words of train.command.

Why it matters
  allranks starts torchrun on every node, with the training environment's own Python. torchrun's options in the
  command are left out too: nodes, gpus and network of the run file say how many ranks there are and where they
  meet.

What to do
  The script and its arguments alone: the note prints that command.
""",
}


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> str:
    """One note's page. Raises KeyError for an unknown id."""
    return f"{name}\n\n{PAGES[name]}"
