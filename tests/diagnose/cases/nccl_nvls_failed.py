FIRES = ("node-2:812:990 [5] transport/nvls.cc:169 NCCL WARN Cuda failure 2 'out of memory'\n",)

SILENT = ("node-2:812:990 [5] NCCL INFO NVLS multicast support is available on dev 5\nstep 1 loss 2.0\n",)
