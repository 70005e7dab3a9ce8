import sys, random, pandas as pd
random.seed(1)
pos, neg = "great lovely solid quick perfect".split(), "broken late awful noisy cheap".split()
rows = [{"text": "the product is " + " and ".join(random.choices(pos if y else neg, k=3)), "label": y} for y in (random.randint(0, 1) for _ in range(800))]
pd.DataFrame(rows).to_parquet(sys.argv[1])
print(f"etl: {len(rows)} reviews -> {sys.argv[1]}")
