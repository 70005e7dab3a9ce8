"""The program of a run's Ray job, as text. It runs with the cluster's Python, which has Ray.

It needs a guard process, because Ray ends an actor by SIGKILL, by the actor's own exit (which also kills its direct
children), or with its node. In each case the supervisor gets SIGTERM, so that it saves, stops its ranks and reports
that, because Ray then gives the node's GPUs to other jobs.
"""

from __future__ import annotations

READY = "allranks: every supervisor has been started"

DRIVER = '''"""The driver of an allranks run: one actor per node holds its resources and starts its supervisor."""

import json
import os
import re
import socket
import subprocess
import sys
import time

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

READY = "allranks: every supervisor has been started"

# Between actor and supervisor: a direct child would be killed with the actor.
GUARD = """
import ctypes, os, signal, sys
def bound(parent):
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the actor ended before its supervisor began")
bound(int(sys.argv[1]))
me = os.getpid()
child = os.fork()
if child == 0:
    bound(me)
    os.execvp("sh", ["sh", sys.argv[2]])
status = os.waitpid(child, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
"""


def keep_record(pid, path):
    """Which process stands for the supervisor here: in a container it would be another pid."""
    with open("/proc/%d/stat" % pid) as file:
        start_time = int(file.read().rpartition(")")[2].split()[19])
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"pid": pid, "start_time": start_time}, file)
    os.replace(path + ".part", path)


@ray.remote(max_restarts=0, max_task_retries=0)
class Supervisor:
    def begin(self, script):
        """Starts the node's supervisor, which waits for its order; says why it cannot."""
        try:
            owner = os.stat(script).st_uid
            if owner != os.geteuid():
                return "Ray runs there as user %d, and the folder is that of user %d" % (os.geteuid(), owner)
            log = open(os.path.join(os.path.dirname(script), "engine.log"), "ab")
        except OSError as error:
            return "%s: %s" % (error.filename, error.strerror)
        without = ("OMP_NUM_THREADS", "PYTHONPATH")  # Ray sets them for its own workers
        env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_") and k not in without}
        words = [sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), script]
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True
        )
        keep_record(self.process.pid, os.path.join(os.path.dirname(script), "ray-guard.json"))
        return ""

    def end(self):
        """The supervisor's exit code, when it has one."""
        return self.process.wait()


def say(task, line):
    with open(task["log"], "a", encoding="utf-8") as file:
        file.write(" ".join(line.split()) + "\\n")
    print(line, flush=True)


def lost(task, node, why):
    """Into the run's folder, where its keeper reads it; the head's supervisor looks for `leaving`: the run saves."""
    event = {"at": time.time(), "node": node, "why": why}
    with open(task["events"], "a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\\n")
    with open(task["leaving"], "w", encoding="utf-8") as file:
        file.write("Ray lost the actor of " + node + "\\n")


def resolved(address):
    try:
        return socket.gethostbyname(address)
    except OSError:
        return address


def machine_of(node):
    """The living machine of the cluster that the node is; None where it is none."""
    names = {node["name"], node["address"], resolved(node["address"])}
    for machine in ray.nodes():
        own = {machine["NodeManagerAddress"], machine["NodeManagerHostname"], machine.get("NodeName")}
        if machine["Alive"] and names & own:
            return machine
    return None


def bundle_of(task, node):
    """What the node's actor asks for; ends the job where that machine can never give it."""
    machine = machine_of(node)
    deadline = time.monotonic() + task["join_seconds"]
    while machine is None and time.monotonic() < deadline:
        time.sleep(0.2)
        machine = machine_of(node)
    if machine is None:
        living = ", ".join(sorted(m["NodeManagerAddress"] for m in ray.nodes() if m["Alive"]))
        return stop(task, "%(name)s: no living node of this Ray cluster has its name or address" % node, living)
    wanted = {"CPU": 1, "GPU": node["gpus"]}
    for kind, number in wanted.items():
        has = machine["Resources"].get(kind, 0)
        if has < number:
            return stop(task, "%s: no room: %g %s in all, %g wanted" % (node["name"], has, kind, number))
    place = {"node:" + machine["NodeManagerAddress"]: 0.001}
    return {**{kind: number for kind, number in wanted.items() if number}, **place}


def stop(task, line, more=""):
    say(task, line + (" (it has %s)" % more if more else ""))
    sys.exit(1)


def why_of(error):
    """Ray's own reason, from the many lines of its message."""
    text = " ".join(str(error).split())
    begins = list(re.finditer(r"The actor (is dead|died|was killed)", text))
    return text[begins[-1].start() if begins else 0 :][:600]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    nodes = task["nodes"]
    ray.init(address="auto", log_to_driver=False)
    bundles = [bundle_of(task, node) for node in nodes]
    group = placement_group(bundles, strategy="STRICT_SPREAD")
    if not group.wait(task["room_seconds"]):
        free = {k: v for k, v in ray.available_resources().items() if k in ("CPU", "GPU")}
        stop(task, "no room: Ray has not placed one actor per node within %d s" % task["room_seconds"], str(free))
    actors = {}
    for number, node in enumerate(nodes):
        where = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number)
        kept = {k: v for k, v in bundles[number].items() if k not in ("CPU", "GPU")}
        options = {"num_cpus": 1, "num_gpus": node["gpus"], "resources": kept, "scheduling_strategy": where}
        name = "allranks-%s-%s" % (task["run"], node["name"])
        actors[node["name"]] = Supervisor.options(name=name, **options).remote()
    begin(task, nodes, actors)
    sys.exit(wait(task, actors))


def begin(task, nodes, actors):
    calls = {node["name"]: actors[node["name"]].begin.remote(node["script"]) for node in nodes}
    for name, call in calls.items():
        try:
            why = ray.get(call)
        except ray.exceptions.RayError as error:
            why = "its actor did not begin: " + why_of(error)
        if why:
            stop(task, "%s: %s" % (name, why))
    say(task, READY)


def wait(task, actors):
    """Until every supervisor has ended; an actor that dies before is told to the keeper."""
    worst = 0
    waiting = {actor.end.remote(): name for name, actor in actors.items()}
    while waiting:
        [done], _ = ray.wait(list(waiting), num_returns=1)
        name = waiting.pop(done)
        try:
            code = ray.get(done)
        except ray.exceptions.ActorUnavailableError:
            time.sleep(1)
            waiting[actors[name].end.remote()] = name
            continue
        except ray.exceptions.RayError as error:
            code = 1
            lost(task, name, why_of(error))
            say(task, "%s: %s" % (name, why_of(error)))
        worst = worst or code
    return worst


if __name__ == "__main__":
    main()
'''
