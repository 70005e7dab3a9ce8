import pyarrow as pa, pyarrow.parquet as pq, os
os.makedirs("data", exist_ok=True)
pq.write_table(pa.table({"text": [f"the cat runs {i}" for i in range(3000)]}), "data/train-00000-of-00001.parquet")
