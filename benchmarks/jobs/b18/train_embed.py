import os, time, logging
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s rank{rank} %(message)s")
log = logging.getLogger("embed")


class SkipGram:
    def __init__(self, table, lr=0.05):
        self.w = table.copy()
        self.c = np.zeros_like(table)
        self.lr = lr

    def step(self, ids):
        loss = 0.0
        for a, b in zip(ids, ids[1:]):
            p = 1 / (1 + np.exp(-(self.w[a] @ self.c[b])))
            loss -= np.log(p + 1e-9)
            g = (1 - p) * self.lr
            self.w[a], self.c[b] = self.w[a] + g * self.c[b], self.c[b] + g * self.w[a]
        return loss / max(1, len(ids) - 1)


def main():
    os.makedirs("run", exist_ok=True)
    open(f"run/{rank}.pid", "w").write(str(os.getpid()))
    tok = Tokenizer.from_file(os.environ["TINY"] + "/tokenizer.json")
    model = SkipGram(load_file(os.environ["TINY"] + "/model.safetensors")["model.embed_tokens.weight"])
    text = "the old dog sleeps in the house . a small cat runs the river road : one red tree grows"
    for step in range(1, 2001):
        loss = model.step(tok.encode(text).ids)
        time.sleep(0.1)
        if step % 10 == 0:
            log.info("step %d/2000 loss %.4f", step, loss)
    np.save(f"emb-{rank}.npy", model.w)


if __name__ == "__main__":
    main()
