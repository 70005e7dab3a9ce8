import os, subprocess as sp, sys
n, port = int(sys.argv[1]), sys.argv[2]
cmd = "exec python multitask.py 2>&1"
ps = [sp.Popen(["bash", "-c", f"set -o pipefail; {cmd.replace('exec ', '')} | awk '{{print \"(cam{r}) \" $0; fflush()}}'"],
               env={**os.environ, "RANK": str(r), "WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for r in range(n)]
rcs = [p.wait() for p in ps]
sys.exit(max(rcs))
