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
)
