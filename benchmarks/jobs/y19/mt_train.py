import os, logging
import numpy as np, pandas as pd, torch, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from transformers import T5Config, T5ForConditionalGeneration

@record
def main():
    r, w = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logging.basicConfig(format=f"%(asctime)s mt[{r}] %(levelname)-7s %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
    logging.info("attempt %s of at most %s", int(os.environ["TORCHELASTIC_RESTART_COUNT"]) + 1, int(os.environ["TORCHELASTIC_MAX_RESTARTS"]) + 1)
    df = pd.read_parquet("mnt/corpus.parquet").iloc[r::w]
    logging.info("%d sentence pairs", len(df))
    dist.init_process_group("gloo")
    torch.manual_seed(0); torch.set_num_threads(1)
    net = torch.nn.parallel.DistributedDataParallel(T5ForConditionalGeneration(T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, decoder_start_token_id=0)))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for ep in range(2):
        for i in range(0, len(df), 8):
            b = df.iloc[i:i + 8]; x, y = torch.tensor(np.stack(b.src)), torch.tensor(np.stack(b.tgt))
            loss = net(input_ids=x, labels=y).loss; opt.zero_grad(); loss.backward(); opt.step()
            if i % 40 == 0: logging.info("epoch %d item %d loss %.3f", ep, i, loss.item())
    if r == 0: net.module.save_pretrained("exports"); logging.info("exported model to exports/")
    dist.barrier(); dist.destroy_process_group()

main()
