import torch


def auc(scores, labels):
    """Mann-Whitney AUC."""
    order = torch.argsort(scores)
    ranks = torch.empty_like(scores)
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    n_pos = int(labels.sum())
    n_neg = len(labels) - n_pos
    s = ranks[labels > 0.5].sum().item()
    return (s - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


def calibration(scores, labels):
    return float(scores.mean() / labels.mean().clamp(min=1e-6))
