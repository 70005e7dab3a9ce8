FIRES = (
    "/bin/sh: 1: nvcc: not found\n",
    "please install the numactl package with apt\nTraceback (most recent call last):\n"
    "FileNotFoundError: [Errno 2] No such file or directory: 'numactl'\n",
    "OSError: sox not found, the audio files cannot be read\n",
    "Error: nvcc not found\n",
    "ImportError: Bad git executable.\n",
    "FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg -y -i /tmp/a'\n",
    "Cannot find installation of ffmpeg\n",
    "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n"
    "compilation terminated.\n"
    "nvcc fatal   : Failed to preprocess host compiler properties.\n",
    "CMake Error: No CMAKE_CXX_COMPILER could be found.\n",
    "raise child_exception_type(errno_num, err_msg) FileNotFoundError: [Errno 2] No such file or directory: "
    "'/usr/local/cuda/bin/nvcc'\n",
)

SILENT = (
    "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'ssh'\n",
    "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No "
    "such file or directory: '/data/train.jsonl'\n",
    "  --lr: command not found\n",
    "FileNotFoundError: [Errno 2] No such file or directory: 'checkpoints'\n",
    "FileNotFoundError: [Errno 2] No such file or directory: 'module'\n",
)
