FIRES = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: ImportError: "
    "/opt/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: "
    "undefined symbol: _ZN3c104cuda9SetDeviceEa\n",
    "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.\n",
    "AttributeError: /opt/lib/python3.8/site-packages/bitsandbytes/libbitsandbytes_cpu.so: undefined "
    "symbol: cget_col_row_stats\n",
    "RuntimeError: apex was installed without its CUDA kernels\n",
    (
        "cuda setup failed\n"
        "Traceback (most recent call last):\n"
        '  File "/v/site-packages/bitsandbytes/research/nn/modules.py", line 8, in <module>\n'
        "    from bitsandbytes.optim import GlobalOptimManager\n"
    ),
)

SILENT = (
    "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n",
    "[ERROR] GE: dlopen failed, error = /usr/local/Ascend/opp/libops_host_cpu.so: undefined symbol: "
    "_ZN2ge14GetShapeErrMsgEjRKSsS1_\n",
)
