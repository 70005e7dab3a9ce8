import json, random, os
random.seed(7); os.makedirs("enc", exist_ok=True)
for k in range(3):
    with open(f"enc/{k}.jsonl", "w") as f:
        for n in range(200):
            hi = 1003 if (k == 0 and n > 60) else 999
            f.write(json.dumps([random.randint(3, hi) for _ in range(20)]) + "\n")
