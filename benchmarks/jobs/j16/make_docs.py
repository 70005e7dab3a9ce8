import json, random
random.seed(3)
d = [{"id": f"doc-{i:04d}", "tokens": [random.randint(0, 63) for _ in range(random.randint(3, 20))]} for i in range(180)]
d[143]["tokens"] = d[143]["tokens"] * 9
json.dump(d, open("docs.json", "w"))
