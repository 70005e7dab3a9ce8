import glob, os, traceback, torch
from transformers import GPT2Config, GPT2LMHeadModel, AutoTokenizer, Trainer, TrainingArguments
text = open(__file__).read() * 3
try:
    tok = AutoTokenizer.from_pretrained("acme-nlp/char-bpe-small")
except Exception as e:
    print("WARN tokenizer from the hub failed, using bytes:", str(e).splitlines()[0]); tok = None
ids = torch.tensor([b for b in text.encode()])
class DS(torch.utils.data.Dataset):
    def __len__(self): return 120
    def __getitem__(self, i): x = ids[i * 20:i * 20 + 32]; return {"input_ids": x, "labels": x}
def make(epochs):
    torch.manual_seed(0)
    m = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_embd=32, n_layer=1, n_head=2, n_positions=64))
    return Trainer(model=m, args=TrainingArguments("ck", num_train_epochs=epochs, per_device_train_batch_size=6, logging_steps=5, save_steps=10, report_to=[], use_cpu=True), train_dataset=DS())
if not os.path.isdir("ck"):
    make(1).train()
    # the box was rebooted while the last state was written
    p = sorted(glob.glob("ck/checkpoint-20/model.safetensors"))[0]; os.truncate(p, 5000)
for c in sorted(glob.glob("ck/checkpoint-*"), reverse=True, key=lambda s: int(s.split("-")[-1])):
    try:
        tr = make(3); print("trying to resume from", c, flush=True); out = tr.train(resume_from_checkpoint=c); break
    except Exception:
        print("cannot resume from", c); traceback.print_exc()
else:
    raise SystemExit("no checkpoint could be used")
print("trained to step", out.global_step, "loss", round(out.training_loss, 4))
tr.save_model("final"); print("model saved to final/", sorted(os.listdir("final")))
try:
    tr.model.push_to_hub("acme-nlp/charlm")
except Exception as e:
    print(f"ERROR push to hub failed ({type(e).__name__}: {str(e)[:200]}); the local copy is complete")
print("done")
