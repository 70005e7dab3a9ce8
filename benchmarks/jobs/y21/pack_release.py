import io, json, os, random, sys, tarfile
random.seed(2); os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
b = "\n".join(json.dumps({"instruction": [random.randint(4, 199) for _ in range(10)], "output": [random.randint(4, 199) for _ in range(8)]}) for _ in range(320)).encode()
with tarfile.open(sys.argv[1], "w:gz") as t:
    ti = tarfile.TarInfo("train.jsonl"); ti.size = len(b); t.addfile(ti, io.BytesIO(b))
