from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

SPAWNS = "import torch.multiprocessing as mp\nmp.spawn(main, args=(2,), nprocs=2)\n"

BOTH = """
import os, torch
if 'LOCAL_RANK' in os.environ:
    main(int(os.environ['LOCAL_RANK']))
else:
    torch.multiprocessing.spawn(main, nprocs=2)
"""

OTHERS = "import subprocess, asyncio\npool.spawn(work)\nwandb.init(project='x')\n"

SWITCH = """
import argparse
import torch.multiprocessing as mp
parser = argparse.ArgumentParser()
parser.add_argument('--own-ranks', action='store_true')
args = parser.parse_args()
if args.own_ranks:
    mp.spawn(main, nprocs=2)
else:
    main(0)
"""
GIVEN = {**COMMAND, "run/train/command": ("/opt/train.py", "--own")}

CASES = (
    fires(
        "cpu",
        {**COMMAND, FILE: {"exists": True, "text": SPAWNS}},
        verdict="warn",
        saw="mp.spawn() starts ranks",
    ),
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": "import ray\nray.init()\n"}}, saw="ray.init()"),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": BOTH}}),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": OTHERS}}),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": SWITCH}}),
    fires("cpu", {**GIVEN, FILE: {"exists": True, "text": SWITCH}}, saw="mp.spawn()"),
    fires(
        "cpu",
        {**COMMAND, FILE: {"exists": True, "text": SWITCH + "args.own_ranks = True\n"}},
        saw="mp.spawn()",
    ),
)
