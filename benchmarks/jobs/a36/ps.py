import os, sys, torch, torch.nn as nn, torch.distributed.rpc as rpc

class ParameterServer:
    def __init__(self):
        self.table = {f"w{i}": torch.zeros(10) for i in range(4)}

    def pull(self, names):
        return {n: self.table[n] for n in names}

    def push(self, grads, lr=0.1):
        for n, g in grads.items():
            self.table[n] -= lr * g

server = None

def get_server():
    global server
    if server is None: server = ParameterServer()
    return server

def remote_pull(names): return get_server().pull(names)
def remote_push(g): return get_server().push(g)

def train(rank, world):
    per = 2
    for step in range(6):
        names = [f"w{(rank - 1) * per + k}" for k in range(per)]
        w = rpc.rpc_sync("ps", remote_pull, args=(names,))
        rpc.rpc_sync("ps", remote_push, args=({n: torch.randn(10) for n in names},))
        print(f"trainer{rank} step {step} pulled {', '.join(w)}", flush=True)

def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rpc.init_rpc("ps" if rank == 0 else f"trainer{rank}", rank=rank, world_size=world)
    if rank > 0: train(rank, world)
    rpc.shutdown()
main()
