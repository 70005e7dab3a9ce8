"""A training script that leaves a helper behind, forked twice, in a session of its own, its environment erased; and
a segment of shared memory and a temporary folder that nobody unlinks."""

import mmap
import os
import subprocess
import sys
import tempfile
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["helper-of-ours", "600"], {})
    os._exit(0)
descriptor = os.open("/dev/shm/torch_of_ours_0", os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(descriptor, 4096)
segment = mmap.mmap(descriptor, 4096)
os.close(descriptor)
pid_file = sys.argv[1]
with open("/tmp/helper.folder", "w") as file:
    file.write(tempfile.mkdtemp(prefix="torchelastic_"))
time.sleep(2)
found, deadline = "", time.monotonic() + 60
while not found and time.monotonic() < deadline:  # it has yet to become what it is called
    found = subprocess.run(["pgrep", "-f", "^helper-of-ours"], capture_output=True, text=True).stdout
    time.sleep(0.1)
with open(pid_file, "w") as file:
    file.write(found)
print("ready", flush=True)
for step in range(600):
    print(f"step {step}", flush=True)
    time.sleep(0.5)
