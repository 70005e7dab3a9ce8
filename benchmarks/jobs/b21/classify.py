import json, logging, os, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForSequenceClassification, AutoTokenizer

def setup_logger(rank):
    h = logging.StreamHandler(sys.stdout)
    h.setFormatter(logging.Formatter(f"%(asctime)s | rank {rank} | %(levelname)-7s | %(message)s"))
    lg = logging.getLogger("classify"); lg.setLevel(logging.INFO); lg.addHandler(h)
    return lg

def batches(path, tok, bs):
    rows = [json.loads(l) for l in open(path)]
    for i in range(0, len(rows), bs):
        part = rows[i:i + bs]
        enc = tok([r["text"] for r in part], return_tensors="pt", padding=True)
        enc["labels"] = torch.tensor([r["label"] for r in part])
        yield enc

def train():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    log = setup_logger(rank)
    tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(os.environ["TINY"], num_labels=3)
    model = DistributedDataParallel(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    path = f"shards/reviews_{rank}.jsonl"
    log.info("training on %s", path)
    for epoch in range(2):
        for step, b in enumerate(batches(path, tok, 4)):
            loss = model(**b).loss
            loss.backward(); opt.step(); opt.zero_grad()
            if step % 2 == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
    dist.destroy_process_group()

train()
