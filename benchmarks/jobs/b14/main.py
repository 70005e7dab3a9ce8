import os, logging
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
from callbacks import CsvHistory

logging.basicConfig(level=logging.INFO, format=f"[r{os.environ.get('RANK')}] %(asctime)s %(message)s")


def dataset(tok, lo, hi):
    return [tok(f"story {i} begins in a small house") for i in range(lo, hi)]


def main():
    tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
    model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
    args = TrainingArguments("stories", max_steps=40, eval_strategy="steps", eval_steps=15, logging_steps=5, per_device_train_batch_size=4,
                             report_to="none", use_cpu=True, disable_tqdm=True, save_strategy="no")
    tr = Trainer(model, args, train_dataset=dataset(tok, 0, 300), eval_dataset=dataset(tok, 300, 340),
                 data_collator=DataCollatorForLanguageModeling(tok, mlm=False), callbacks=[CsvHistory("history.csv")])
    logging.info("start")
    tr.train()
    logging.info("finished")


main()
