FIRES = (
    "Exception in device=TPU:3: Aborted: Session 77aa is not found.\n"
    "terminate called after throwing an instance of 'std::runtime_error'\n",
    "ow::Status::OK() (Unavailable: From /job:tpu_worker/replica:0/task:0:\nDriver not open. vs. OK)\n",
    "E1224 22:35:53.165575 26868 real_program_continuator.cc:1331] 0x0x0_TC0: *** Halt is "
    "unexpected, all pending programs will fail.\n",
    "RuntimeError: The TPU is already in use by process with pid 4121. Not attempting to load "
    "libtpu.so in this process.\n",
    "RuntimeError: INTERNAL: Core halted unexpectedly: No error message available.\n",
    "RuntimeError: Cannot replicate if number of devices (1) is different from 8\n",
    "F0101 00:00:00.000000 7 pjrt_client.cc:12] Check failed: status is not OK (INTERNAL: TPU driver)\n",
    "INFO:tensorflow:step 3, loss = 2.0\nINFO:tensorflow:ShutdownHook: lame workers found: a/task:0\n",
    "x.MisconfigurationException: No TPU devices were found.\n",
    (
        "Exception in device=TPU:4: RESOURCE_EXHAUSTED: Attempting to reserve 5.1G at the bottom of memory.\n",
        4,
    ),
    "RuntimeError: tensorflow/compiler/xla/xla_client/mesh_service.cc:1 : Check failed: impl_->channel->Wait() \n",
)

SILENT = (
    "INFO: libtpu version 2.14 found\nstep 1 loss 2.0\n",
    "INFO: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open "
    "shared object file: No such file or directory\n",
)
