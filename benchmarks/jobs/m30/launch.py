import multiprocessing as mp, time, sys
from trainer import Trainer

def entry(idx, n):
    Trainer(idx, n, port=4435).main()

if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    ps = [ctx.Process(target=entry, args=(i, 3), name=f"trainer-{i}") for i in range(3)]
    for p in ps: p.start()
    for p in ps: p.join()
    print("name        exit code")
    for p in ps: print(f"{p.name:<12}{p.exitcode}")
    sys.exit(max(abs(p.exitcode) for p in ps))
