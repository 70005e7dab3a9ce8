"""From SIGKILL of a rank to the next step with a base of 1.5 B parameters, against `torchrun --max-restarts=1`.

Both run the same script (`_restart_base_loop.py`) under ZeRO-3 on three nodes of this machine, in turns; allranks with
`environment: {loader: own}` and `launch: {standby: true}` (`STANDBY=0`: without). The files stay in the page cache.
`SIZE=tiny` tries it out; `KIND=moe`; `ROUNDS=1`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks import _base_model, load, restart

TITLE = "From a killed rank to the next step with a large base, against `torchrun --max-restarts`"
ON_REQUEST = True
LOOP = Path(__file__).parent / "_restart_base_loop.py"
SIZE = os.environ.get("SIZE", "large")
KIND = os.environ.get("KIND", "dense")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
STANDBY = os.environ.get("STANDBY", "1") == "1"
LIMIT_SECONDS = 900.0
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
"""The environment's own ninja comes first, as in a run of allranks: another one compiles DeepSpeed's operator again."""


def measure() -> str:
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    with tempfile.TemporaryDirectory(prefix="restart-base-", dir=os.environ.get("LOAD_FOLDER")) as name:
        base = Path(name) / "base"
        parameters = _base_model.make(base, KIND, SIZE)
        more = {"RESTART_BASE": str(base), "TORCH_EXTENSIONS_DIR": load.operators(sys.executable)}
        for number in range(ROUNDS + 1):
            pair = {}
            for side in ("allranks", "torchrun") if number % 2 else ("torchrun", "allranks"):
                with tempfile.TemporaryDirectory(prefix="restart-") as place:
                    folder = Path(place)
                    if side == "allranks":
                        pair[side] = restart.ours(folder, LOOP, "own", LIMIT_SECONDS, STANDBY, **more)
                    else:
                        pair[side] = restart.theirs(folder, LOOP, LIMIT_SECONDS, PATH=PATH, **more)
            print(pair, file=sys.stderr, flush=True)
            if number:  # the first is a warm-up
                rounds.append((pair["allranks"], pair["torchrun"]))
    return f"{KIND}, {parameters / 1e6:,.0f} M parameters. {restart.told(rounds, 0.4)}"


if __name__ == "__main__":
    print(measure())
