FIRES = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    rows.append(row["answer"])\n'
    "KeyError: 'answer'\n",
    'Traceback (most recent call last):\n  File "/w/my_dataset.py", line 9, in __getitem__\n    return pick(number)\n'
    "IndexError: list index out of range\n",
    "Traceback (most recent call last):\n"
    '  File "/opt/datasets/formatting/formatting.py", line 280, in __getitem__\n    value = self.data[key]\n'
    "KeyError: 'answer'\n",
    "ArrowInvalid: JSON parse error: Column(tags) changed from array to string in row 9\n\n"
    "During handling of the above exception, another exception occurred:\n\n"
    "ArrowTypeError                            Traceback (most recent call last)\n"
    "ArrowTypeError: Expected bytes, got a 'int' object\n",
    "KeyError                                  Traceback (most recent call last)\n"
    "KeyError: 'train'\n\nThe above exception was the direct cause of the following exception:\n\n"
    "DatasetGenerationError                    Traceback (most recent call last)\n"
    "/opt/datasets/builder.py in _prepare_split(self)\n-> 2014             raise\n",
    "Traceback (most recent call last):\n"
    "AssertionError: Index file doesn't match expected format. Make sure that --dataset-impl is "
    "configured properly.\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' in row 3\n",
    "DataLossError: corrupted record at 0\n",
    "RuntimeError: stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at entry 1\n",
    "RuntimeError: each element in list of batch should be of equal size\n",
    "ValueError: num_samples should be a positive integer value, but got num_samples=0\n",
    "InvalidArgumentError: Feature: words (data type: int64) is required but could not be found.\n",
    "InvalidArgumentError: Could not parse serialized Example\n",
    "UnidentifiedImageError: cannot identify image file 'a.jpg'\n",
    "ValueError: the dataset has 0 samples\n",
    "# rows.parquet is corrupt\n",
    "KeyError: Caught KeyError in DataLoader worker process 3.\n",
    "ValueError: Keys mismatch: between {'a': 1} (source) and {'b': 1}\n",
    "ValueError: Invalid role tag in the sample\n",
)

SILENT = (
    "Map: 100%|##########| 10/10\nstep 1 loss 2.0\n",
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in go\n    step(batch[0])\nKeyError: 'stage'\n",
)
