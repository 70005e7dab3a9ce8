import json, random
random.seed(1)
with open("features.json", "w") as f:
    json.dump([[random.gauss(0, 1) for _ in range(10)] for _ in range(1200)], f)
