FIRES = (
    "subprocess.CalledProcessError: Command '['triton/bin/ptxas', '/tmp/a.ptx']' returned non-zero "
    "exit status 255.\n",
    "RuntimeError: Triton Error [CUDA]: device kernel image is invalid\n",
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: "
    "180224, Hardware limit: 166912\n",
)

SILENT = ("torch.compile took 12 s\nstep 1 loss 2.0\n",)
