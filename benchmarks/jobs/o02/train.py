from datasets import load_from_disk
print(load_from_disk("tokenized"))
