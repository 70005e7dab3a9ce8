"""Tells what this rank got of the contract's variables, then trains as the runs' loop does.

`--after PATTERN`, taken from the words: begins once a run that matches has succeeded, by its keeper's state.json."""

import importlib.util
import json
import os
import runpy
import sys
import time
from pathlib import Path


def has_succeeded(pattern: str) -> bool:
    return any(
        json.loads(path.read_text())["state"] == "succeeded" for path in Path("/").glob(pattern.lstrip("/"))
    )


print("GOT " + json.dumps({n: v for n, v in os.environ.items() if n.startswith("CONTRACT_")}), flush=True)
after = [word.partition("=")[2] for word in sys.argv if word.startswith("--after=")]
sys.argv = [word for word in sys.argv if not word.startswith("--after=")]
deadline = time.monotonic() + 300
while after and after[0] and not has_succeeded(after[0]) and time.monotonic() < deadline:
    time.sleep(0.2)
# With the stand-in for torch on the path, the loop that needs none.
loop = "loop.py" if importlib.util.find_spec("torch.nn") else "light_loop.py"
runpy.run_path(str(Path(__file__).parents[2] / "runs" / "scripts" / loop), run_name="__main__")
