import json, random
random.seed(3)
with open("reviews.jsonl", "w") as f:
    for i in range(240):
        if i in (37, 118, 119):
            f.write('{"text": "great pho\n')
        elif i == 71:
            f.write(json.dumps({"txt": "no stars", "label": 1}) + "\n")
        else:
            f.write(json.dumps({"text": "w%d " % random.randint(0, 50) * 5, "label": i % 2}) + "\n")
print("wrote reviews.jsonl (240 rows)")
