FIRES = (
    "Traceback (most recent call last):\nhttpcore.ConnectError: [Errno -2] Name or service not known\n\n"
    "The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them.\n",
    "Error: Local entry not found. [Errno -2] Name or service not known\n",
    "ValueError: Connection error, and we cannot find the requested files in the cached path.\n",
    "Your request to access model org/base is awaiting a review from the repo authors.\n",
    "ConnectionError: Couldn't reach https://files.example.org/set.py\n",
    "urllib.error.URLError: <urlopen error timed out> while downloading https://files.example.org/a.pth\n",
    "Hugging Face is down, the download of the model failed\n",
    "Traceback (most recent call last):\n"
    '  File "/e/huggingface_hub/utils/_errors.py", line 239, in hf_raise_for_status\n',
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: We couldn't "
    "connect to 'https://huggingface.co' to load this "
    "file, couldn't find it in the cached files\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: huggingface_hub.errors.GatedRepoError: "
    "401 Client Error. Cannot access "
    "gated repo for url https://huggingface.co/meta-llama/Llama-3.1-8B\n",
    "Access to model meta-llama/Meta-Llama-3-8B is restricted\n",
)

SILENT = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: OSError: Error no "
    "file named model.safetensors found in directory x\n",
)
