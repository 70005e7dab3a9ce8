FIRES = (
    "RuntimeError: The TPU is already in use by process with pid 4121. Not attempting to load "
    "libtpu.so in this process.\n",
)

SILENT = ("INFO: libtpu version 2.14 found\nstep 1 loss 2.0\n",)
