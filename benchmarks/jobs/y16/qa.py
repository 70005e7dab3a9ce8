import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from transformers import BertConfig, BertForQuestionAnswering

def main():
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    acc.print(acc.state)
    ds = load_dataset("json", data_files="qa.jsonl", split="train").with_format("torch")
    model = BertForQuestionAnswering(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
    model, opt, dl = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3), DataLoader(ds, batch_size=8, shuffle=True))
    w = SummaryWriter("runs/qa") if acc.is_main_process else None
    for s, b in enumerate(dl):
        with acc.accumulate(model):
            loss = model(input_ids=b["q"], start_positions=b["start"], end_positions=b["start"]).loss
            acc.backward(loss); opt.step(); opt.zero_grad()
        if w: w.add_scalar("loss", loss.item(), s)
        acc.print("step", s, loss.item())
    acc.save_state("out")

if __name__ == "__main__": main()
