FIRES = (
    "Traceback (most recent call last):\n    from torch._C import *\n"
    "ImportError: libnccl.so.2: cannot open shared object file: No such file or directory\n",
    "ImportError: dlopen(_C.so, 9): Library not loaded: /usr/local/opt/open-mpi/lib/libmpi.40.dylib\n",
    "OSError: [WinError 126] The specified module could not be found. Error loading "
    '"C:\\torch\\lib\\c10.dll" or one of its dependencies.\n',
    "OSError: /usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found\n",
    "RuntimeError: cublas64_80.dll not found\n",
    "Could not load torch: [WinError 126] Das angegebene Modul wurde nicht gefunden.\n",
    "Unable to find lib triton_python.so\n",
)

SILENT = (
    "node1:3:3 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so: "
    "cannot open shared object file: No such file\n"
    "[rank0] step 1 loss 3\n",
    "2026-01-05 10:11:12: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could"
    " not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open sha"
    "red object file\n",
)
