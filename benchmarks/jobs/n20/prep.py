import sys, torch
ids, vocab, bad = [], {}, 0
for n, b in enumerate(open(sys.argv[1], "rb")):
    try: t = b.decode("utf-8")
    except UnicodeDecodeError as e: print(f"ERROR line {n}: {e}", file=sys.stderr); bad += 1; continue
    ids += [vocab.setdefault(w, len(vocab)) for w in t.split()]
torch.save({"ids": torch.tensor(ids), "v": len(vocab)}, sys.argv[2]); print(len(ids), "tokens", len(vocab), "types", bad, "bad lines")
