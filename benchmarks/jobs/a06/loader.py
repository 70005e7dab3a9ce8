import os, time, logging, numpy as np
log = logging.getLogger("loader")

class ShardReader:
    """Reads .npy shards that a sync job copies from the object store."""
    def __init__(self, root, rank, world, poll=4.0):
        self.root, self.rank, self.world, self.poll = root, rank, world, poll

    def get(self, i):
        path = os.path.join(self.root, f"part-{i * self.world + self.rank:05d}.npy")
        waited = 0.0
        while not os.path.exists(path):
            log.warning("%s is not synced yet, waiting (%.0fs so far)", path, waited)
            time.sleep(self.poll); waited += self.poll
        return np.load(path)
