import datasets, sys
print(datasets.load_from_disk("tokenized"))
