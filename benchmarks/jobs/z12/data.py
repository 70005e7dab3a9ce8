import csv, random
import torch
from torch.utils.data import Dataset

NUM_LABELS = 4


class Tickets(Dataset):
    def __init__(self, path):
        with open(path) as f:
            self.rows = list(csv.reader(f))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        ids = [ord(c) % 120 for c in text][:32]
        ids += [0] * (32 - len(ids))
        y = int(label)
        assert 0 <= y < NUM_LABELS, f"row {i}: label {y} not in [0, {NUM_LABELS}): {text!r}"
        return {"input_ids": torch.tensor(ids), "attention_mask": (torch.tensor(ids) > 0).long(), "labels": torch.tensor(y)}


if __name__ == "__main__":
    random.seed(2)
    words = "printer login vpn invoice refund password screen slow broken order laptop mail".split()
    with open("tickets.csv", "w", newline="") as f:
        w = csv.writer(f)
        for i in range(960):
            w.writerow([" ".join(random.choices(words, k=4)), 4 if i == 300 else random.randrange(4)])
