import logging, os
import torch
from torch.utils.data import DataLoader
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = ["the cat runs", "the old dog sleeps in the house", "a tree grows", "one small river"] * 50


class Collate:
    def __init__(self, tok):
        self.tok = tok

    def __call__(self, texts):
        b = self.tok(texts, padding=True, truncation=True, max_length=32, return_tensors="pt")
        b["labels"] = b["input_ids"].clone()
        return b


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    tok = AutoTokenizer.from_pretrained("base")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained("base"), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    logging.info("trainable: %d", sum(p.numel() for p in model.parameters() if p.requires_grad))
    dl = DataLoader(TEXTS, batch_size=4, shuffle=True, collate_fn=Collate(tok))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for e in range(2):
        for i, b in enumerate(dl):
            loss = model(**b).loss
            loss.backward(); opt.step(); opt.zero_grad()
            if i % 5 == 0:
                logging.info("epoch %d batch %d loss %.3f", e, i, loss.item())


main()
