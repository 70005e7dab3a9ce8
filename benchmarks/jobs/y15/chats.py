import json, random
random.seed(21)
rows = []
for i in range(640):
    p = [random.randint(6, 199) for _ in range(random.randint(8, 20))]
    a = [random.randint(6, 199) for _ in range(random.randint(4, 12))]
    rows.append({"id": i, "prompt": p, "answer": a})
# a few crawled FAQ pages
for j in range(4):
    rows[4 * (4 * 19 + j) + 2]["prompt"] = [random.randint(6, 199) for _ in range(70)]
with open("chats.jsonl", "w") as f:
    for r in rows: f.write(json.dumps(r) + "\n")
