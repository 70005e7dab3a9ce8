FIRES = (
    'RuntimeError: nrt_tensor_allocate status=4 message="Allocation Failure"\n',
    "2026-01-05 10:11:12.000123: ERROR  NRT:nrt_allocate_neuron_cores               "
    "NeuronCore(s) not available\n",
    "2026-01-05 10:11:12: 136 ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff, please set"
    " --retry_failed_compilation to compile it again\n",
    "subprocess.CalledProcessError: Command '['neuronx-cc', 'compile', '--framework=XLA', "
    "'/tmp/u/workdir/model.MODULE_1.hlo_module.pb', '--output', '/tmp/u/workdir/model.MODULE_1.neff', "
    "'--target=trn1', '--model-type=transformer', '-O1', '--auto-cast', 'none', "
    "'--enable-saturate-infinity', '--verbose=35']' returned non-zero exit status 70.\n",
    "2024-05-05 01:02:03.0004 7:7 [31] bootstrap.cc:89 CCOM WARN Timeout waiting for incoming connection "
    "(waited 120 sec)\n",
    "ERROR  ENC:exec_graph_sync   execution timed out\n",
    "2023-06-20T16:49:00Z ERROR 22697 [WalrusDriver]: An exception was thrown:\n",
)

SILENT = (
    "INFO: NEURON_RT_NUM_CORES=32\nstep 1 loss 2.0\n",
    (
        "7:7 [0] nccl_net_ofi_init:1415 CCOM WARN NET/OFI could not find EFA\n"
        "step 1 loss 9.1\n"
        "step 2 loss 9.0\n"
    ),
)
