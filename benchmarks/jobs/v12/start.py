#!/usr/bin/env python
"""Reads fleet.json and starts what it lists.  Usage: start.py fleet.json"""
import json, os, subprocess, sys
fleet = json.load(open(sys.argv[1]))
procs = []
for u in fleet["units"]:
    env = dict(os.environ)
    env.update({k: str(v) for k, v in fleet["common"].items()})
    env.update({k: str(v) for k, v in u["env"].items()})
    procs.append(subprocess.Popen([sys.executable, "-W", "ignore", "asr_ctc.py"], env=env))
bad = 0
for p in procs:
    bad += p.wait() != 0
sys.exit(min(bad, 1))
