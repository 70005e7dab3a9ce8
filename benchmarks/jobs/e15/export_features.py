import os, time
from filelock import FileLock
os.makedirs("cache", exist_ok=True)
with FileLock("cache/part3.lock"):
    time.sleep(100)
