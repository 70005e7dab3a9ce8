import logging, os, subprocess, sys, tempfile, unittest
import numpy as np
from loop import Diverged, fit, load, save
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")


class Loop(unittest.TestCase):
    def test_converges(self): self.assertLess(fit(.1)[1], 1e-6)

    def test_divergence_is_detected(self):
        with np.errstate(all="warn"), self.assertRaises(Diverged): fit(50., 2000)

    def test_bad_hook_does_not_stop_training(self):
        def hook(s, l):
            if s in (3, 4): raise RuntimeError("metrics server went away")
        self.assertLess(fit(.1, hook=hook)[1], 1e-6)

    def test_hook_out_of_memory(self):
        def hook(s, l):
            if s == 7: np.empty((1 << 46,))
        fit(.1, 20, hook=hook)

    def test_broken_checkpoint(self):
        with tempfile.TemporaryDirectory() as d:
            save(d + "/a.npy", np.zeros(5)); open(d + "/a.npy", "r+b").truncate(90)
            with self.assertRaises(ValueError): load(d + "/a.npy")

    def test_killed_child_is_reported(self):
        p = subprocess.run([sys.executable, "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)"]); self.assertEqual(p.returncode, -11)

    @unittest.expectedFailure
    def test_momentum(self): fit(.1, momentum=.9)

    @unittest.skipUnless(os.path.exists("/dev/nvidia0"), "no GPU on this runner")
    def test_gpu(self): pass
