import argparse, torch, torch.distributed as dist, traceback, time
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from peft import LoraConfig, get_peft_model
ap = argparse.ArgumentParser(); ap.add_argument("--rank_dim", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); me = dist.get_rank()
def note(t, always=False):
    if me == 0 or always: print(f"sft|{me}|{t}")
note("building model")
torch.manual_seed(0)
model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=200, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=64))
# stage A: short full fine-tune of the head to see that data and loss are sane
opt = torch.optim.AdamW(model.embed_out.parameters(), 1e-3)
for i in range(110):
    ids = torch.randint(0, 200, (2, 32))
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad(); loss.backward()
    for p in model.embed_out.parameters(): dist.all_reduce(p.grad); p.grad /= 2
    opt.step(); note(f"[head] step {i} loss {loss.item():.4f}")
note("[head] sane, switching to LoRA")
peft_model = None
for targets in (["q_proj", "v_proj"], ["query", "value"]):
    try:
        peft_model = get_peft_model(model, LoraConfig(r=a.rank_dim, target_modules=targets, task_type="CAUSAL_LM"))
        break
    except ValueError:
        note(f"targets {targets} do not fit, next preset")
        if me == 0: traceback.print_exc()
if peft_model is None:
    peft_model = get_peft_model(model, LoraConfig(r=a.rank_dim, target_modules=["c_attn"], task_type="CAUSAL_LM"))
peft_model.print_trainable_parameters()
