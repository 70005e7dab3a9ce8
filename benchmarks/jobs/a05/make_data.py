import json, random
random.seed(0)
w = "the of model data train loss rank gradient learning paper network layer large small token".split()
with open("corpus.jsonl", "w") as f:
    for i in range(200000):
        f.write(json.dumps({"text": " ".join(random.choices(w, k=60))}) + "\n")
