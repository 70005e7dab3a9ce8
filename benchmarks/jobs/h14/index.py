import os, time, numpy as np
def build_or_load(shard, log):
    path = f"cache/idx_{shard}.npy"
    lock = path + ".lock"
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            log(f"{lock} is held by another process, waiting")
            time.sleep(5)
    try:
        if not os.path.exists(path):
            log(f"building index of shard {shard}")
            np.save(path, np.random.permutation(1000))
        return np.load(path)
    finally:
        os.unlink(lock)
