import os, json, logging
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")

def read_part(rank):
    with open(f"part{rank}.jsonl") as f:
        return [json.loads(l) for l in f]

def build_vocab(docs):
    words = sorted({w for d in docs for w in d["tokens"]})
    return {w: i for i, w in enumerate(["<pad>", "<unk>"] + words)}

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    docs = read_part(rank)
    vocab = build_vocab(docs)
    logging.info("rank %d: %d documents, vocabulary of %d words", rank, len(docs), len(vocab))
    net = nn.Sequential(nn.Embedding(len(vocab), 32), nn.Linear(32, 5))
    net = DDP(net)
    opt = torch.optim.Adam(net.parameters())
    for d in docs:
        ids = torch.tensor([vocab.get(w, 1) for w in d["tokens"]])
        loss = nn.functional.cross_entropy(net(ids), torch.tensor(d["tags"]))
        opt.zero_grad(); loss.backward(); opt.step()

main()
