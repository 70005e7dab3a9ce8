import sys, torch
from transformers import pipeline
p = pipeline("text-classification", model=sys.argv[1], device=-1)
for t in sys.argv[2:]:
    print(t, "->", p(t))
