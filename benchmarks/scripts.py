"""Public training scripts that nobody here wrote, unmodified, on three nodes of this machine's processors.

    make bench-scripts                          those that come inside packages of the training environment
    SCRIPTS=/folder make bench-scripts          also those of repositories, each in /folder/OWNER+NAME
    PYTHON=/env/bin/python …                    the training environment; the one of allranks without it
    ONLY=trl-sft,nanogpt KINDS=hand,run …       a piece of it
    TORCH_EXTENSIONS_DIR=/folder …              DeepSpeed's operators for the trials by hand, else compiled in them
    AGAIN=1 …                                   also what was measured before
    KEEP=/folder …                              keeps the inputs, the runs and what the trials wrote
    ONLY=none …                                 only writes the section

`corpora/scripts.tsv` says where each script is to be had, at which commit, and with which arguments and variables it
trains for a few steps on a CPU without the network; `_scripts/inputs.py` makes what they read. Of each script there
are four trials: by hand with three torchruns of one rank each; the same line behind `allranks run --cpu --`; and that
again with an exception in rank 1, and with a SIGKILL of rank 2, after their second optimizer step. Each trial's outcome
is a line of benchmarks/results/scripts.jsonl (or of RESULTS). A script that fails by hand is not tried with allranks.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks._scripts import inputs, results
from benchmarks._scripts.corpus import Places, chosen, scripts
from benchmarks._scripts.trial import KINDS, Bench, trial

TITLE = "Public scripts, unmodified"
ON_REQUEST = True


def measure() -> str:
    places = Places(os.environ.get("PYTHON", sys.executable), os.environ.get("SCRIPTS"))
    missing = {script.name: places.missing(script) for script in scripts()}
    here = [script for script in chosen() if not missing[script.name]]
    if here:
        with contextlib.ExitStack() as stack:
            kept = os.environ.get("KEEP")
            work = Path(
                kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="scripts-"))
            ).absolute()
            needed = " ".join(f"{one.laid} {one.environment} {one.arguments}" for one in here)
            read = inputs.made(work / "inputs", places.python, needed)
            bench = Bench(places, read, work / "home", work / "trials")
            for script in here:
                for kind in asked():
                    done = results.trials()
                    known = done.get((script.name, kind))
                    able = kind == "hand" or done.get((script.name, "hand"), {}).get("ok")
                    if able and (known is None or os.environ.get("AGAIN")):
                        outcome = trial(script, kind, bench)
                        results.keep(outcome)
                        print(json.dumps(outcome), flush=True)
    return results.page(scripts(), {name: why for name, why in missing.items() if why})


def asked() -> list[str]:
    return [kind for kind in os.environ.get("KINDS", "").split(",") if kind] or list(KINDS)
