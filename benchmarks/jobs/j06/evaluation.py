import torch
from sacrebleu.metrics import BLEU
def score_predictions(model):
    return BLEU().corpus_score(["a b c"], [["a b d"]])
