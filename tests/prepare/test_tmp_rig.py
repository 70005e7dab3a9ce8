from __future__ import annotations
import sys, time, json
from pathlib import Path
from tests.prepare import test_containers_on_rig as t
from tests.prepare.test_containers_on_rig import *  # noqa

T=time.monotonic()
def say(*a):
    with open('/tmp/C_prog.txt','a') as f: print(round(time.monotonic()-T,1),*a,file=f)

@pytest.fixture(scope="module")
def rig():
    say('begin')
    with only_one(), Rig(2, shared=[sys.prefix, sys.base_prefix]) as rig:
        try:
            say('rig up')
            start_docker(rig, NODES)
            say('docker up')
            yield rig
        finally:
            say('stopping')
            stop_docker(rig, NODES)

def test_one(desk, rig):
    file = boxed(desk)
    say('file')
    run = desk.run(file, "--no-probe")
    say(run["state"], run["step"])
    for number, container in zip(NODES, ids(rig)):
        inside = ("exec", container, "/opt/env/bin/python", "-c")
        out = docker(rig, number, *inside, WRITES).split()
        say(out)
        assert out == ["runs", "cache", "code", "NoNewPrivs:", "1"]
    say(json.dumps(desk.json("clean","--files","--models","-y"))[:300])
