import logging, os, sys, time
import torch, torch.distributed as dist

class BudgetLedger:
    """keeps the number of tokens that this replica may still use"""
    def __init__(self, limit): self.left = limit
    def spend(self, n):
        self.left -= n
        if self.left < 0:
            raise LedgerError(f"over the budget by {-self.left} tokens")

class LedgerError(RuntimeError): pass

class Trainer:
    def __init__(self, idx, n, port):
        self.idx, self.n, self.port = idx, n, port
        logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-7s %(processName)s: %(message)s")
        self.log = logging.getLogger("t")
    def main(self):
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{self.port}", rank=self.idx, world_size=self.n)
        g = torch.Generator().manual_seed(40 + self.idx)
        ledger = BudgetLedger(1500 * 20)
        for step in range(1, 31):
            try:
                n = int(torch.randint(500, 2100 if self.idx else 4000, (1,), generator=g))
                ledger.spend(n)
            except LedgerError:
                self.log.exception("step %d", step)
                os._exit(17)
            t = torch.tensor([n]); 
            try:
                dist.all_reduce(t)
            except RuntimeError as e:
                self.log.error("step %d: %s", step, e)
                os._exit(1)
            self.log.info("step %d: %d tokens, %d left", step, n, ledger.left)
            time.sleep(0.05)
