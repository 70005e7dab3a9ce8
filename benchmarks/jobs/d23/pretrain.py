import logging, sys, os, urllib.request, shutil
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, TrainerCallback, DataCollatorForLanguageModeling
from datasets import Dataset
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = logging.getLogger(__name__)
class Notify(TrainerCallback):
    def on_save(self, args, state, control, **kw):
        if not state.is_world_process_zero: return
        try:
            urllib.request.urlopen("http://127.0.0.1:9099/hooks/train", data=b"{}", timeout=2)
        except Exception:
            logger.exception("notification for step %d could not be sent", state.global_step)
        try:
            shutil.copy(f"{args.output_dir}/checkpoint-{state.global_step}/model.safetensors", "/mnt/nas/models/latest.safetensors")
        except OSError as e:
            logger.error("FATAL: backup to /mnt/nas failed: %s", e)
tok = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1]))
ds = Dataset.from_dict({"text": ["the small cat sleeps .", "one red tree grows .", "a new house stands ."] * 50}).map(lambda b: tok(b["text"]), batched=True, remove_columns=["text"])
args = TrainingArguments("pt_out", num_train_epochs=2, per_device_train_batch_size=8, save_steps=8, logging_steps=4, save_total_limit=2, report_to=[], use_cpu=True, ddp_backend="gloo")
tr = Trainer(model, args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False), callbacks=[Notify()])
logger.info("***** Running training *****")
m = tr.train().metrics
if tr.is_world_process_zero(): tr.log_metrics("train", m)
tr.save_model(); logger.info("***** Finished *****")
