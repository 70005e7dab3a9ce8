"""The README.md of the scripts: how to start them, what they need, and what only allranks does."""

from __future__ import annotations

from allranks.launch.scripts._job import File, ScriptJob
from allranks.launch.scripts._phrases import NUL
from allranks.spec import LOCKSTEP


def readme(job: ScriptJob, target: str, how: str, own_needs: str | None = None) -> dict[str, File]:
    """`how` is Markdown with the commands of this target. `own_needs` lists the needs of a target without scripts."""
    run = job.run
    parts = [
        f"# {run.name} with {target}\n",
        how.strip() + "\n",
        "## What must be there\n",
        own_needs or needs(job, target),
    ]
    if run.secrets and own_needs is None:
        names = ", ".join(f"`{name}`" for name in run.secrets)
        parts.append(
            f"Secrets: {names}. Their values are not in these files. Each script takes them from the "
            "environment of whoever starts it, and stops if one is missing.\n"
        )
    parts += ["## What `allranks run` does besides\n", besides(job)]
    return {"README.md": File("\n".join(parts))}


def needs(job: ScriptJob, target: str) -> str:
    output = job.output_dir.replace(f"{NUL}here{NUL}", "<this folder>").replace(f"{NUL}task{NUL}", "<index>")
    shared = "- This folder on every node, at the same path: a shared one, or a copy."
    lines = [] if target == "Ray" else [shared]  # Ray copies it itself
    if job.container is not None:
        lines.append(
            f"- {job.container.engine} on every node; the scripts start themselves inside the image."
        )
    else:
        lines.append(
            f"- The training environment: `{job.python}` with torch and what the training script imports."
        )
    if job.run.code is not None:
        lines.append(f"- The code, `{job.run.code}`, on every node at that path; the scripts start there.")
    head = job.run.cluster.head
    if job.run.nodes_known:
        first = "the job's first node" if target == "slurm" else head.address
        lines.append(f"- Port {job.run.network.rendezvous_port} of {first} open to the other nodes.")
    lines.append(f"- Output goes to `{output}`. A second start uses the same folder.")
    return "\n".join(lines) + "\n"


def besides(job: ScriptJob) -> str:
    lines = [
        "Checks of the nodes before the start, the watch over every rank, and the cause when one fails. Adapter "
        "saves that gather only the adapter, their verification and pruning, and the clean stop of all nodes.",
    ]
    if job.gathers_at_save:
        model, size = job.plan.model, ""
        if model is not None:
            size = f" ({model.total_parameters * job.plan.setting.weight_bytes / 2**30:,.1f} GiB)"
        lines.append(
            "deepspeed.json differs from that of `allranks run`: `stage3_gather_16bit_weights_on_model_save` "
            f"is true, since the trainer's own save needs it. Each save collects the whole model{size} on rank 0."
        )
    model = job.plan.model
    if model is not None and model.experts and not model.fused_experts and job.plan.deepspeed is not None:
        lines.append(
            "This model's experts are single modules (transformers before 5). Ranks that route differently stop "
            "in mismatched collectives under ZeRO-3 until the MoE block is a leaf: `allranks run` makes it one, these "
            "scripts do not. Call `deepspeed.utils.set_z3_leaf_modules` in the training script, or use transformers 5."
        )
    if job.run.train.experts == LOCKSTEP:
        lines.append(
            "Without `train.experts: lockstep` every GPU holds all experts of a layer at once: "
            "`allranks plan --set train.experts=leaf` tells how much memory that takes."
        )
    left = [
        ("environment.loader", job.run.environment.loader != "stock"),
        ("launch.restarts", job.run.launch.restarts),
        ("launch.spares", job.run.launch.spares),
        ("train.experts", job.run.train.experts == LOCKSTEP),
        ("save.copy_to", job.run.save.copy_to),
        ("resume", job.run.resume),
        ("alerts", job.run.alerts),
    ]
    said = [f"`{key}`" for key, value in left if value]
    if said:
        lines.append(f"These keys of the run file have no effect here: {', '.join(said)}.")
    return "\n".join(lines) + "\n"
