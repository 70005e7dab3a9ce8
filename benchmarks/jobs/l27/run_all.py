import subprocess, sys
for seed in (7,):
    p = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "4327", "train.py"], capture_output=True, text=True)
    print(f"seed {seed}: finished")
    print(p.stdout[-600:])
    print(p.stderr[-1800:])
print("all seeds finished")
