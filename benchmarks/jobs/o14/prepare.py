import argparse, pandas as pd
p = argparse.ArgumentParser(); p.add_argument("--csv", nargs="+"); p.add_argument("-o"); a = p.parse_args()
parts = []
for f in a.csv:
    df = pd.read_csv(f); print(f"{f}: {len(df)} rows, columns={list(df.columns)}"); parts.append(df)
df = pd.concat(parts); df["label"] = (df.stars > 3).astype(int)
df.to_parquet(a.o); print("wrote", a.o, len(df))
