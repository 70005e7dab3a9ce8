import os, subprocess, sys, time
n = int(sys.argv[1])
ps = [subprocess.Popen([sys.executable, "zero_trainer.py"], env={**os.environ, "RANK": str(i), "LOCAL_RANK": str(i), "WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "47710"}) for i in range(n)]
codes = [p.wait() for p in ps]
print(f'{{"t": {time.time():.1f}, "src": "launcher", "exit_codes_nonzero": {sum(c != 0 for c in codes)}}}')
sys.exit(any(codes))
