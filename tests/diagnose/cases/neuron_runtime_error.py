FIRES = (
    'RuntimeError: nrt_tensor_allocate status=4 message="Allocation Failure"\n',
    "2026-01-05 10:11:12.000123: ERROR  NRT:nrt_allocate_neuron_cores               "
    "NeuronCore(s) not available\n",
    "2026-01-05 10:11:12: 136 ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff, please set"
    " --retry_failed_compilation to compile it again\n",
)

SILENT = ("INFO: NEURON_RT_NUM_CORES=32\nstep 1 loss 2.0\n",)
