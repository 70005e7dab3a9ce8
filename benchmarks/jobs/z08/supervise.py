"""Start one learner per host entry, wait for all, show what they wrote."""
import json, os, resource, subprocess, sys, time

hosts = json.load(open("hosts.json"))
os.makedirs("out", exist_ok=True)


def limiter(mb):
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (mb << 20, mb << 20))) if mb else None


procs = []
for k, h in enumerate(hosts):
    f = open(f"out/{h['name']}.txt", "w")
    env = dict(os.environ, RANK=str(k), WORLD_SIZE=str(len(hosts)), MASTER_ADDR="127.0.0.1", MASTER_PORT="48215", HOST_ALIAS=h["name"])
    procs.append(subprocess.Popen([sys.executable, "learner.py"], stdout=f, stderr=subprocess.STDOUT, env=env,
                                  preexec_fn=limiter(h.get("limit_as_mb"))))
print(f"supervisor: {len(procs)} learners started")
codes = [p.wait() for p in procs]
for h, c in zip(hosts, codes):
    print(f"\n--------- {h['name']} (exit {c}) ---------")
    print(open(f"out/{h['name']}.txt").read().rstrip())
print(f"\nsupervisor: exit codes {codes}")
sys.exit(int(any(codes)))
