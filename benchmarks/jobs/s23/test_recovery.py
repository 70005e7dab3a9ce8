import os, traceback, unittest, torch
import torch.multiprocessing as mp
from trainlib import train


def supervise(port, tries, **kw):
    for t in range(tries):
        try:
            mp.spawn(train, args=(2, port + t, 60) + ((kw["die_at"], kw["how"]) if t == 0 else ()), nprocs=2)
            return t
        except Exception:
            traceback.print_exc()
            print(f"supervisor: attempt {t} failed, {tries - t - 1} left", flush=True)
    raise RuntimeError("gave up")


class Recovery(unittest.TestCase):
    def setUp(self):
        if os.path.exists("state.pt"): os.remove("state.pt")

    def tearDown(self):
        self.assertEqual(torch.load("state.pt")["s"], 60)

    def test_worker_is_killed(self):
        self.assertEqual(supervise(47430, 2, die_at=25, how="kill"), 1)

    def test_worker_raises(self):
        self.assertEqual(supervise(47434, 2, die_at=41, how="raise"), 1)
