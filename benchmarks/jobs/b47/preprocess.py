from datasets import load_dataset
ds = load_dataset("parquet", data_files="data/*.parquet", split="train", cache_dir=".cache")
ds = ds.map(lambda e: {"n": len(e["text"].split())})
print(ds, sum(ds["n"]))
ds.save_to_disk("processed")
