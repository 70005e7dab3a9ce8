import os
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer
from corpus import TextShard

acc = Accelerator(cpu=True)
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
opt = torch.optim.SGD(model.parameters(), lr=0.05)
dl = DataLoader(TextShard(f"txt/part-{acc.process_index}.txt", tok), batch_size=4)
model, opt = acc.prepare(model, opt)
bar = tqdm(total=10, disable=not acc.is_local_main_process)
for b in dl:
    out = model(**b)
    acc.backward(out.loss)
    opt.step(); opt.zero_grad()
    bar.update(1)
    bar.set_postfix(loss=out.loss.item())
acc.wait_for_everyone()
acc.print("epoch finished")
