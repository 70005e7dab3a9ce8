python - <<'P'
import json
with open("instructions.jsonl", "w") as f:
    for i in range(600):
        s = json.dumps({"prompt": f"Add {i} and {i+3}. ", "response": f"It is {2*i+3}."})
        f.write((s[:38] if i == 314 else s) + "\n")
P
python sft.py instructions.jsonl
