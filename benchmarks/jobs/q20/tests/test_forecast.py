import os, unittest
from forecast.series import holidays, seasonal, windows
class Series(unittest.TestCase):
    def test_windows(self): self.assertEqual(len(windows(list(range(10)), 4)), 6)
    def test_last_window(self): self.assertEqual(windows(list(range(10)), 4)[-1], [6, 7, 8, 9])
    def test_period(self): self.assertAlmostEqual(seasonal(25, 24)[24], 0.0)
    def test_holidays(self): self.assertIn("2024-12-25", holidays(2024))
    @unittest.expectedFailure
    def test_leap(self): self.assertEqual(seasonal(366, 365)[365], 0)
    @unittest.skipUnless(os.path.exists("/dev/nvidia0"), "CUDA is not available")
    def test_gpu(self): pass
