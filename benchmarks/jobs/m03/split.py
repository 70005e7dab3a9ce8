import json, os, random
random.seed(4)
os.makedirs("corpus", exist_ok=True)
rows = [{"text": " ".join(random.choice("the of a model data run node".split()) for _ in range(12)), "score": random.random()} for _ in range(1200)]
blob = "".join(json.dumps(r) + "\n" for r in rows)
n = len(blob) // 4
for i in range(4):
    part = blob[i * n:(i + 1) * n]
    if i in (0, 1, 3):
        part = part[part.find("{"):part.rfind("}") + 1] + "\n"
    open(f"corpus/part{i}.jsonl", "w").write(part)
