"""Beam search over lattices with a fixed budget per utterance. A worker which is over the budget is
killed and replaced, and the utterance is decoded again with a smaller beam."""
import argparse, collections, multiprocessing as mp, os, signal, sys, time
import numpy as np


def decode(i, beam):
    r = np.random.default_rng(i); n = 40 if i % 11 else 4000
    sc, back = np.zeros(beam), []
    for t in range(n):
        em = r.normal(size=64); c = (sc[:, None] + em[None, :]).ravel()
        top = np.argsort(c)[-beam:]; sc = c[top]; back.append(top[0] % 64)
    return float(sc.max() / n)


def worker(rank, inq, outq):
    while True:
        job = inq.get()
        if job is None: return
        outq.put((job, decode(*job)))


class Slot:
    def __init__(s, k): s.k = k; s.start()

    def start(s):
        s.i, s.o = mp.Queue(), mp.Queue(); s.p = mp.Process(target=worker, args=(s.k, s.i, s.o)); s.p.start(); s.job = None
        print(f"{time.time()-T0:7.2f} farm    worker {s.k} started")


if __name__ == "__main__":
    T0 = time.time()
    ap = argparse.ArgumentParser(); ap.add_argument("--utterances", type=int); ap.add_argument("--workers", type=int); ap.add_argument("--limit", type=float); a = ap.parse_args()
    todo = collections.deque((i, 512) for i in range(a.utterances)); done, kills = {}, 0
    slots = [Slot(k) for k in range(a.workers)]
    while len(done) < a.utterances:
        for s in slots:
            if s.job is None and todo: s.job, s.t = todo.popleft(), time.time(); s.i.put(s.job)
            elif s.job is not None:
                if not s.o.empty():
                    (i, b), v = s.o.get(); done[i] = v; print(f"{time.time()-T0:7.2f} worker{s.k} utt {i:03d} beam {b} score {v:.4f}"); s.job = None
                elif time.time() - s.t > a.limit * (1 if s.job[1] > 32 else 100):
                    i, b = s.job; os.kill(s.p.pid, signal.SIGKILL); s.p.join(); kills += 1
                    print(f"{time.time()-T0:7.2f} farm    TIMEOUT utt {i:03d} on worker {s.k} after {a.limit}s; worker {s.k} (pid {s.p.pid}) died with exit code {s.p.exitcode} (SIGKILL)")
                    print(f"{time.time()-T0:7.2f} farm    utt {i:03d} goes back to the queue with beam {b//4}")
                    todo.append((i, b // 4)); s.start()
        time.sleep(.01)
    for s in slots: s.i.put(None)
    for s in slots: s.p.join()
    with open("scores.txt", "w") as f: f.writelines(f"{i} {v:.5f}\n" for i, v in sorted(done.items()))
    print(f"{time.time()-T0:7.2f} farm    {len(done)} of {a.utterances} utterances decoded, {kills} workers replaced, mean {np.mean(list(done.values())):.4f}, scores.txt written")
