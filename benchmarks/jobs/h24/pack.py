import torch
def pack(docs, ctx, eos=2):
    out, cur = [], []
    for d in docs:
        cur += d + [eos]
        while len(cur) >= ctx:
            out.append(cur[:ctx]); cur = cur[ctx:]
    return out

def to_batch(rows, vocab):
    t = torch.tensor(rows)
    assert t.min() >= 0 and t.max() < vocab, (int(t.min()), int(t.max()), vocab)
    return t
