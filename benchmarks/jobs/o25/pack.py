import io, json, os, random, tarfile
os.makedirs("shards", exist_ok=True)
for shard in range(4):
    with tarfile.open(f"shards/pairs-{shard:03d}.tar", "w") as t:
        for i in range(64):
            data = json.dumps({k: [round(random.gauss(0, 1), 3) for _ in range(32)] for k in ("img", "txt")}).encode()
            info = tarfile.TarInfo(f"{100000 * shard + i:08d}.json"); info.size = len(data); t.addfile(info, io.BytesIO(data))
os.truncate("shards/pairs-003.tar", 35940)
