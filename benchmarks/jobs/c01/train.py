import argparse, torch, deepspeed
from transformers import AutoModelForCausalLM

def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--local_rank", type=int, default=-1)
    p.add_argument("--model", required=True)
    p.add_argument("--steps", type=int, default=20)
    return deepspeed.add_config_arguments(p).parse_args()

def main():
    args = get_args()
    deepspeed.init_distributed(dist_backend="gloo")
    model = AutoModelForCausalLM.from_pretrained(args.model)
    engine, opt, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for step in range(args.steps):
        ids = torch.randint(4, 30, (engine.train_micro_batch_size_per_gpu(), 32))
        loss = engine(input_ids=ids, labels=ids).loss
        engine.backward(loss)
        engine.step()
        if engine.global_rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)

if __name__ == "__main__":
    main()
