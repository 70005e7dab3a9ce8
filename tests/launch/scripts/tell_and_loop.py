"""Tells what this rank got of the contract's variables, then trains as the runs' loop does."""

import json
import os
import runpy
from pathlib import Path

print("GOT " + json.dumps({n: v for n, v in os.environ.items() if n.startswith("CONTRACT_")}), flush=True)
runpy.run_path(str(Path(__file__).parents[2] / "runs" / "scripts" / "loop.py"), run_name="__main__")
