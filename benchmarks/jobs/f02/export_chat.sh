#!/bin/bash
# export from the annotation db (sqlite dump -> jsonl)
python - <<'P' | head -c 151200 > data/chat.jsonl
import json
for i in range(2000):
    print(json.dumps({"id": i, "prompt": f"question number {i}", "answer": "the answer is " + "ok " * (i % 9)}))
P
wc -c data/chat.jsonl
