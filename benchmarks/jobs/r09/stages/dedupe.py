import json
seen = {json.loads(l)["body"] for l in open("articles.jsonl")}
print("dedupe:", len(seen), "unique")
