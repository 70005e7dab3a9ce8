import json, os
os.makedirs("corpus", exist_ok=True)
for n in range(3):
    with open(f"corpus/shard-{n}.jsonl", "w") as f:
        for i in range(300):
            f.write(json.dumps({"text": f"document {i} of shard {n} about gradients", "score": i / 300}) + "\n")
