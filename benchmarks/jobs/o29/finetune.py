import argparse, logging, os, random, traceback
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
def load_model(name, tries=1):
    for i in range(tries):
        try: return AutoModelForCausalLM.from_pretrained(name)
        except Exception:
            logging.error("could not load %s (try %d/%d)\n%s", name, i + 1, tries, traceback.format_exc())
    mirror = os.environ["LOCAL_MODEL"]; logging.warning("falling back to the local mirror"); return AutoModelForCausalLM.from_pretrained(mirror)
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--max-steps", type=int); a = p.parse_args()
model = get_peft_model(load_model(a.model), LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")); model.print_trainable_parameters()
rows = [[random.randrange(4, 31) for _ in range(32)] for _ in range(200)]
t = Trainer(model=model, args=TrainingArguments("out", max_steps=a.max_steps, per_device_train_batch_size=4, logging_steps=5, report_to=[], use_cpu=True), train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows}))
t.train(); model.save_pretrained("adapter"); logging.info("adapter saved to adapter/ (%d files)", len(os.listdir("adapter")))
