"""A rank without torch: it tells its steps to `allranks.worker` as hooks do, and can be told to go wrong."""

import argparse
import os
import signal
import subprocess
import sys
import time

from allranks.worker import activation  # the bundle's: only there, below a supervisor, is a rank one

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--seconds", type=float, default=0.1)
parser.add_argument("--until", default="", help="it ends once this file is there")
parser.add_argument("--fault", default="none", help="one, or some with commas between them")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--at", type=int, default=5)
parser.add_argument("--workers", type=int, default=0, help="processes that wait, as a data loader's")
parser.add_argument("--once", action="store_true", help="the fault comes in the first attempt alone")
parser.add_argument("--on", default="", help="the fault comes on this node alone")
options = parser.parse_args()

rank = activation.ACTIVE
assert rank is not None
mine = int(os.environ["RANK"]) == options.rank and options.on in ("", os.environ["ALLRANKS_NODE"])
mine = mine and not (options.once and os.environ.get("ALLRANKS_ATTEMPT", "0") != "0")
for _ in range(options.workers):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
rank.owner = "torch"
rank.reach("training")
rank.begin()

step = 0
while step < options.steps and not os.path.exists(options.until):
    for fault in options.fault.split(",") if mine and step == options.at else ():
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif fault == "raise":
            raise ValueError("the label of sample 7 is -1")
        elif fault == "disk":
            with open(os.environ["FULL_DISK"] + "/checkpoint.pt", "wb") as file:
                for _ in range(64):
                    file.write(b"x" * (1 << 20))
        elif fault == "orphan":
            # A child in a session of its own, without our environment, whose parent goes away.
            code = f"# {os.environ['ALLRANKS_RUN_ID']}\nimport os, time\nif os.fork(): os._exit(0)\nos.setsid()\n"
            code += "time.sleep(600)"
            subprocess.run([sys.executable, "-c", code], env={}, check=True)
        elif fault == "secret":
            print("the token is", os.environ["CANARY_TOKEN"], flush=True)
    time.sleep(options.seconds)
    step += 1
    rank.end_step(step, 1e-3, 1.0 / step)
    rank.release()
    print(f"step {step - 1}", flush=True)
