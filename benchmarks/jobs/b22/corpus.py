from torch.utils.data import IterableDataset


class TextShard(IterableDataset):
    def __init__(self, path, tok, max_len=32):
        self.path, self.tok, self.max_len = path, tok, max_len

    def __iter__(self):
        with open(self.path, encoding="utf-8") as f:
            for line in f:
                line = line.strip()
                if not line:
                    continue
                e = self.tok(line, truncation=True, max_length=self.max_len, padding="max_length", return_tensors="pt")
                ids = e["input_ids"][0]
                yield {"input_ids": ids, "attention_mask": e["attention_mask"][0], "labels": ids.clone()}
