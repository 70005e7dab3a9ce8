import json, time
from multiprocessing import Pool
import numpy as np
from transformers import AutoTokenizer
import os

tok = AutoTokenizer.from_pretrained(os.environ["TINY"])

def encode(line):
    ex = json.loads(line)
    return tok(ex["prompt"] + " " + ex["answer"])["input_ids"] + [tok.eos_token_id]

if __name__ == "__main__":
    t0 = time.time()
    lines = open("data/chat.jsonl").read().splitlines()
    print(f"[pack] {len(lines)} documents, 2 workers", flush=True)
    n, out = 0, []
    with Pool(2) as pool:
        for i, ids in enumerate(pool.imap(encode, lines, chunksize=50)):
            out.extend(ids); n += 1
            if n % 400 == 0:
                print(f"[pack] {n} docs, {len(out)} tokens, {time.time() - t0:.1f}s", flush=True)
    np.array(out, dtype=np.uint16).tofile("data/train.bin")
    print("[pack] done")
