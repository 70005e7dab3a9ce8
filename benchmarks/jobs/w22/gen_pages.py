import json, os, random, sys
random.seed(9); os.makedirs(sys.argv[1], exist_ok=True)
for i in range(4):
    n = [900, 900, 900, 310][i]
    with open(f"{sys.argv[1]}/{i}.jsonl", "w") as f:
        for k in range(n):
            s = json.dumps({"url": f"http://ex.org/{i}/{k}", "text": " ".join(random.choices("a bb ccc dddd eeeee".split(), k=random.randint(3, 80)))})
            f.write(s[: len(s) // 2] + "\n" if (i == 2 and k % 21 == 5) else s + "\n")
    print(i, n)
