def rouge_l(a, b): return len(set(a) & set(b)) / max(1, len(set(b)))
