import argparse, logging
import torch
logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s", level=logging.INFO)
p = argparse.ArgumentParser(); p.add_argument("--manifest"); p.add_argument("--sr", type=int, default=16000); a = p.parse_args()
items = [l.rstrip("\n").split("\t") for l in open(a.manifest)]
logging.info("manifest %s: %d utterances, torch %s", a.manifest, len(items), torch.__version__)
from audio_utils import read_wave
for path, text in items:
    wav = read_wave(path)
