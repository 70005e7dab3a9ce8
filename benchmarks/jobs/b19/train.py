import logging
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")


def main(path="base", steps=60):
    logging.info("loading model from %s", path)
    model = AutoModelForCausalLM.from_pretrained(path)
    logging.info("model: %d parameters", model.num_parameters())
    tok = AutoTokenizer.from_pretrained(path)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i in range(steps):
        b = tok(["the cat sleeps in the house"] * 4, return_tensors="pt")
        loss = model(**b, labels=b["input_ids"]).loss
        loss.backward(); opt.step(); opt.zero_grad()
        logging.info("step %d loss %.4f", i, loss.item())


if __name__ == "__main__":
    main()
