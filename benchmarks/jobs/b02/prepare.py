import json, os, random
random.seed(1)
os.makedirs("data", exist_ok=True)
rows = []
for i in range(400):
    a, b = random.randint(1, 90), random.randint(1, 90)
    rows.append(json.dumps({"instruction": f"What is {a} plus {b} ?", "output": f"{a+b}"}))
# the annotators' export comes in two pieces
with open("data/part_a.jsonl", "w") as f:
    f.write("\n".join(rows[:250])[:-9])
with open("data/part_b.jsonl", "w") as f:
    f.write("\n".join(rows[250:]) + "\n")
