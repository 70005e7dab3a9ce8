import glob, random, tarfile
from torch.utils.data import IterableDataset

class InterleavedShards(IterableDataset):
    """read from all shards in turn, so that a batch mixes them"""
    def __init__(self, pattern):
        self.urls = sorted(glob.glob(pattern))
    def __iter__(self):
        streams = []
        for u in self.urls:
            streams.append(tarfile.open(u))
        random.shuffle(streams)
        while streams:
            for t in list(streams):
                m = t.next()
                if m is None:
                    streams.remove(t); t.close(); continue
                yield len(t.extractfile(m).read())
