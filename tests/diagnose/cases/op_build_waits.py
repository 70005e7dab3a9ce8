FIRES = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/env/torch/utils/cpp_extension.py", line 2400, in _jit_compile\n'
    "[rank1]:     baton.wait()\n"
    '[rank1]:   File "/env/torch/utils/file_baton.py", line 51, in wait\n'
    "[rank1]:     time.sleep(self.wait_seconds)\n"
    "[rank1]: torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15\n",
    "Thread 0x00007f2a (most recent call first):\n"
    '  File "/env/torch/utils/file_baton.py", line 51 in wait\n'
    '  File "/env/torch/utils/cpp_extension.py", line 2400 in _jit_compile\n',
    "The run is stuck at Loading extension module fused_adam for 40 minutes.\n",
    (
        "train is stucked\n"
        "Warning: Lock file exists in build directory: '/h/.cache/torch_extensions/py39/ops/lock'\n"
    ),
    (
        'Thread 15688 (idle): "MainThread"\n'
        "    wait (torch/utils/file_baton.py:50)\n"
        "    _jit_compile (torch/utils/cpp_extension.py:2156)\n"
    ),
    '"Building C++/CUDA extension" hangs forever on rank 3\n',
)

SILENT = (
    "Using /root/.cache/torch_extensions/py311_cu128 as PyTorch extensions root...\n"
    "Detected CUDA files, patching ldflags\nEmitting ninja build file\nBuilding extension module cpu_adam...\n"
    "Loading extension module cpu_adam...\nTime to load cpu_adam op: 24.1 seconds\n{'loss': 2.1}\n",
)
