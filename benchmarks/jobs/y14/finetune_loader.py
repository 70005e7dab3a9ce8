import ctypes, os, sys
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

RANK, SIZE = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])

class Mails(Dataset):
    def __init__(self, fn): self.lines = open(fn).read().splitlines(); self.lib = None
    def __len__(self): return len(self.lines)
    def __getitem__(self, i):
        if self.lib is None: self.lib = ctypes.CDLL("./libfastclean.so")
        buf = ctypes.create_string_buffer(4096)
        self.lib.clean(self.lines[i].encode(), buf)
        return torch.tensor(list(buf.value[:64].ljust(64)))

def main():
    dist.init_process_group("gloo", rank=RANK, world_size=SIZE)
    torch.set_num_threads(1)
    m = torch.nn.parallel.DistributedDataParallel(GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)))
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)
    dl = DataLoader(Mails(f"mails_{RANK}.tsv"), batch_size=8, num_workers=2, prefetch_factor=2)
    for ep in range(2):
        for k, x in enumerate(dl):
            l = m(input_ids=x, labels=x).loss; o.zero_grad(); l.backward(); o.step()
            print(f"<{RANK}> epoch {ep} batch {k}/{len(dl)} loss {l.item():.3f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
