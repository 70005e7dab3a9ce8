import json, os
os.makedirs("raw", exist_ok=True)
with open("raw/train.jsonl", "w") as f:
    for i in range(1200):
        said = None if i == 873 else f"it is {2 * i + 1}"
        turns = [{"role": "user", "content": f"what is {i} plus {i + 1}"}, {"role": "assistant", "content": said}]
        f.write(json.dumps({"id": i, "conversations": turns}) + "\n")
