"""Makes trackers write into the run's folder, by their own variables. The user's settings win.

TensorBoard's event files go to `logs` in the output folder, the place that `--logging_dir "$OUTPUT_DIR/logs"` means;
transformers 5.6 only reads `TENSORBOARD_LOGGING_DIR` (integrations/integration_utils.py), transformers 4 the
argument. Weights & Biases keeps an offline run below `WANDB_DIR`, from where `wandb sync` uploads it later. Its key
is a secret of the run: `secrets: [WANDB_API_KEY]`.
"""

from __future__ import annotations

from typing import Any

from allranks.spec import Run

TENSORBOARD, WANDB = "TENSORBOARD_LOGGING_DIR", "WANDB_DIR"


def environment(run: Run, output_dir: str) -> dict[str, str]:
    """The variables of the trackers that the run uses, without those that the user has set."""
    used = reported_to(run.train.arguments.get("report_to"))
    found = {}
    if used & {"tensorboard", "all"}:
        asked = run.train.arguments.get("logging_dir")
        found[TENSORBOARD] = run.here(str(asked)) if asked else f"{output_dir}/logs"
    if used & {"wandb", "all"} or any(name.startswith("WANDB_") for name in (*run.env, *run.secrets)):
        found[WANDB] = output_dir
    return {name: value for name, value in found.items() if name not in run.env}


def reported_to(value: Any) -> set[str]:
    """The trackers in `report_to`, in all forms that LLaMA-Factory accepts: a name, names with commas, a list."""
    names = value if isinstance(value, (list, tuple)) else str(value or "").split(",")
    return {str(name).strip() for name in names if str(name).strip()}
