import json, random, sys
random.seed(5)
w = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(2, 9))) for _ in range(2000)]
with open("wiki.jsonl", "w") as f:
    for i in range(int(sys.argv[1])): f.write(json.dumps({"title": f"Article {i}", "text": " ".join(random.choices(w, k=500))}) + "\n")
