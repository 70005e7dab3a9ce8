import os, sys
root = sys.argv[1]
n = size = 0
for d, _, fs in os.walk(root):
    for f in fs:
        n += 1; size += os.path.getsize(os.path.join(d, f))
print(f"   {root}: {n} files, {size/2**20:.1f} MiB")
print("   WARNING: no checkpoint newer than 24h was promoted, keeping yesterday's model in serving")
for f in sorted(os.listdir(root + "/ckpt")):
    print("   keep", f)
