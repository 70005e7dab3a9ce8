import struct
import unittest

from loader import ShardError, read_shard


class ReadShard(unittest.TestCase):
    def test_ok(self):
        self.assertEqual(read_shard(struct.pack("<II", 1, 1) + b"abcd")[:2], (1, 1))

    def test_truncated_header(self):
        with self.assertRaises(ShardError):
            read_shard(b"abc", rank=3)

    def test_size_mismatch(self):
        with self.assertRaises(ShardError):
            read_shard(struct.pack("<II", 100, 16) + b"\0" * 11, rank=1)
