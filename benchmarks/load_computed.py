"""Loading DeepSeek-V3 (671 B) on 24 ranks, computed by the plan's own code: nothing is measured.

The run is examples/deepseek-v3-24xa100.yaml with each loader and both versions of transformers. The files are the bf16
ones of the example, or DeepSeek's own release in fp8.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from allranks import spec
from allranks.plan import make_plan
from allranks.plan.first_step import SENT_TIMES, STORAGE

TITLE = "Loading 671 B on 24 ranks, on paper"
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "deepseek-v3-24xa100.yaml"
FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
ROWS = (
    # what, transformers, loader, what the config says of the files
    ("own, bf16", "5.6.0", "own", {}),
    ("own, fp8", "5.6.0", "own", FP8),
    ("stock, transformers 4.52, bf16", "4.52.4", "stock", {}),
    ("stock, transformers 5.6, bf16", "5.6.0", "stock", {}),
)
GiB = 1 << 30


def measure() -> str:
    heads = ["", "read in all", "read by one node", "sent to each rank", *(name for name, _ in STORAGE)]
    heads += ["sending, 100 Gb Ethernet", "host memory of a node"]
    rows = [heads, ["---"] * len(heads), *(row(*one) for one in ROWS)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return (
        "Three nodes of eight ranks; computed by `allranks plan`, not measured. The speeds of storage are assumed and "
        "those of all nodes together, except NVMe's, which is each node's own. Times add reading alone; "
        "host memory includes eight processes.\n\n"
        f"{table}\n\n"
        "With `own` a node's NVMe holds the parts of its own ranks, as `prepare: {cache: …}` leaves them. In the stock "
        "way a node has the whole base on its NVMe (before transformers 5 the head alone). DeepSeek's release holds "
        "another 14 B parameters for predicting several tokens, which nobody reads."
    )


def row(what: str, transformers: str, loader: str, stored: dict[str, Any]) -> list[str]:
    config = json.loads(EXAMPLE.with_suffix("").with_suffix(".config.json").read_text())
    run = spec.loads(EXAMPLE.read_text().replace("transformers==4.52.4", f"transformers=={transformers}"))
    run = replace(run, environment=replace(run.environment, loader=loader))
    plan = make_plan(run, {**config, **stored})
    assert plan.memory is not None and plan.traffic is not None and plan.model is not None
    read, first = plan.traffic["loading"], plan.traffic["first_step"]
    in_all = read["bytes"] * read["readers"]
    sent = first["sending_seconds"]
    whole = plan.model.total_parameters * 2
    return [
        what,
        size(in_all),
        size(read["node_bytes"]),
        size(SENT_TIMES * whole) if sent else "0",
        *(minutes(read["seconds"][name]) for name, _ in STORAGE),
        minutes(sent) if sent else "0",
        f"{plan.memory['host_parts']['load'] / GiB:,.0f} GiB",
    ]


def size(count: float) -> str:
    return f"{count / 1e12:.2f} TB" if count >= 1e12 else f"{count / 1e9:,.0f} GB"


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min {seconds % 60:02.0f} s" if seconds >= 100 else f"{seconds:.0f} s"


if __name__ == "__main__":
    print(measure())
