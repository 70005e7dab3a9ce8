import json, random
random.seed(5)
for r in range(3):
    n = [random.randint(80, 700) for _ in range(60)]
    if r == 1:
        n[33] = 41872   # scraped thread, all on one page
    with open(f"docs.{r}.json", "w") as f:
        json.dump([{"doc": f"d{r}-{i:03d}", "tokens": t} for i, t in enumerate(n)], f)
