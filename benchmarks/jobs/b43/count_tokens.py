import gzip, json, os, time
from tokenizers import Tokenizer

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
tok = Tokenizer.from_file(os.environ["TINY"] + "/tokenizer.json")


def tokenize_shard(path):
    n = 0
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for i, line in enumerate(f):
            n += len(tok.encode(json.loads(line)["text"]).ids)
            if i % 2000 == 0:
                print(f"{time.strftime('%X')} rank {rank} {path}: {i} docs {n} tokens", flush=True)
    return n


total = tokenize_shard(f"shards/c4-{rank:05d}.json.gz")
print(f"rank {rank} finished with {total} tokens", flush=True)
