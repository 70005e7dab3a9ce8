import json, logging, sys, time, collections
import torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
dist.init_process_group("gloo"); rank, ws = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(levelname)-8s %(asctime)s [{rank}] %(filename)s:%(lineno)d - %(message)s")
log = logging.getLogger("score")
tok = AutoTokenizer.from_pretrained(sys.argv[1]); model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
docs = [{"id": i, "text": "the small cat sleeps . " * (1 if i % 9 else 40)} if i % 11 else {"id": i, "text": None} for i in range(60)]
c = collections.Counter(); tot = 0.0
for d in docs[rank::ws]:
    try:
        b = tok(d["text"], return_tensors="pt")
        if b.input_ids.shape[1] > model.config.max_position_embeddings:
            raise ValueError(f"document {d['id']} has {b.input_ids.shape[1]} tokens, the model takes {model.config.max_position_embeddings}")
        with torch.no_grad(): tot += model(b.input_ids, labels=b.input_ids).loss.item()
        c["ok"] += 1
    except ValueError as e:
        c["failed"] += 1
        log.error("scoring failed for document %s: %s", d["id"], e, exc_info=d["text"] is None)
    if sum(c.values()) % 10 == 0: log.info("progress %d/%d ok=%d failed=%d", sum(c.values()), len(docs[rank::ws]), c["ok"], c["failed"])
t = torch.tensor([c["ok"], c["failed"], tot]); dist.all_reduce(t)
if rank == 0:
    log.info("scored %d documents, failed: %d (%.1f%%, threshold 40%%), mean nll %.4f", int(t[0]), int(t[1]), 100 * t[1] / (t[0] + t[1]), t[2] / t[0])
    json.dump(t.tolist(), open("scores.json", "w")); log.info("scores.json written")
dist.destroy_process_group()
