FIRES = (
    "KeyError: 'Non-existent config key: TRAIN.RATE'\n",
    "toml.decoder.TomlDecodeError: Unbalanced quotes (line 3 column 7 char 40)\n",
    "tomllib.TOMLDecodeError: Unclosed array (at line 3, column 9)\n",
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    width = cfg["model"]["width"]\n'
    "            ~~~~~~~~~~~~^^^^^^^^^\nKeyError: 'width'\n",
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    for key in ini["extra"]:\n'
    '  File "/usr/lib/python3.8/configparser.py", line 959, in __getitem__\n    raise KeyError(key)\n'
    "KeyError: 'extra'\n",
    "run.sh: line 9: --lr: command not found\n",
    "failed (exitcode: 2) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "Error: Missing option '--config'.\n",
    "train.py: error: unrecognized arguments: --lora_ranks 8\n",
    "Usage: train [OPTIONS] COMMAND [ARGS]...\nTry 'train --help' for help.\n\nError: No such command 'go'.\n",
    "ValueError: remaining_argv: ['--lora_ranks', '8']\n",
    "Got unknown args, potentially deprecated arguments: ['--lora_ranks']\n",
    "AttributeError: 'Namespace' object has no attribute 'pace'\n",
    "AttributeError: 'EasyDict' object has no attribute 'pace'\n",
    "KeyError: 'Head is not in the models registry. Look at its name.'\n",
    "ValueError: No configurable matching 'fit.pace'.\n",
    "FileNotFoundError: [Errno 2] No such file or directory: 'run/settings.yaml'\n",
    "error: 'No action for destination key fit.pace to check its value.'\n",
    "ValueError: unknown strategy 'dq'. Example choices: ddp, fsdp, deepspeed, auto\n",
    "missing EQUAL at '<EOF>'\n",
    'Traceback (most recent call last):\n  File "a.py", line 3, in go\n    main()\n  File "b.py", line 9, in main\n'
    "    args = parser.parse_args_into_dataclasses()\n",
    "AssertionError: resolution is required\n",
    "MultipleInvalid: extra keys not allowed @ data['pace']\n",
    "# The config file is wrong\n",
)

SILENT = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    width = table["width"]\n'
    "KeyError: 'width'\n",
    "failed (exitcode: 3) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "failed (exitcode: 1) local_rank: 0 (pid: 3623) of binary: /opt/env/bin/python\n",
    "torchrun: error: step 1 loss 2.0\nstep 2 loss 2.0\n",
    "AttributeError: 'Encoder' object has no attribute 'pace'\n",
)
