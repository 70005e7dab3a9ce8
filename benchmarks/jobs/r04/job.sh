#!/bin/bash
set -e
python build_corpus.py
python fit_tokenizer.py --corpus corpus.txt --out tok
python finetune.py --tok tok --max_steps 30 || { rc=$?; echo; echo "finetune.py: exit $rc -- see above"; python - <<P
import json,os
print("environment:"); import torch,transformers,tokenizers
for m in (torch,transformers,tokenizers): print("  ",m.__name__,m.__version__)
print("   out:",sorted(os.listdir("out")))
P
exit $rc; }
