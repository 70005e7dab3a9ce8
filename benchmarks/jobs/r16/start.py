"""start.py -n N -- script args: a small launcher, prefixes the lines of each worker"""
import os, subprocess, sys, threading
n = int(sys.argv[sys.argv.index("-n") + 1]); cmd = sys.argv[sys.argv.index("--") + 1:]
ps = []
for r in range(n):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT="47309",
               OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    ps.append(subprocess.Popen([sys.executable, *cmd], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))


def pump(r, p):
    for line in p.stdout:
        sys.stdout.write(f"w{r}> {line}"); sys.stdout.flush()


ts = [threading.Thread(target=pump, args=(r, p)) for r, p in enumerate(ps)]
[t.start() for t in ts]; [t.join() for t in ts]
rcs = [p.wait() for p in ps]
print("exit codes", rcs)
sys.exit(max(map(abs, rcs)))
