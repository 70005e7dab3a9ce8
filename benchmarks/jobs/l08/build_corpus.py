import json, os, time
time.sleep(20)
os.makedirs("corpus", exist_ok=True)
with open("corpus/.part", "w") as f:
    for i in range(120):
        f.write(json.dumps({"prompt": f"say {i}", "completion": f"{i}"}) + "\n")
os.replace("corpus/.part", "corpus/train.jsonl")
print("corpus ready: 120 rows", flush=True)
