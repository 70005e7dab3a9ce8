FIRES = (
    "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect.\n",
    "node0: Traceback (most recent call last):\n"
    "node0: torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 2/3 clients joined.\n",
    "Traceback (most recent call last):\n"
    '  File "torchrun", line 8, in <module>\n'
    "    raise RendezvousTimeoutError\n"
    "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
    'Traceback (most recent call last):\n  File "/e/elastic/rendezvous/c10d_rendezvous_backend.py", line 3, in '
    "_call_store\nRuntimeError: Connection reset by peer\n",
    "torch.distributed: RuntimeError: Socket Timeout\n",
    "timed out initializing process group in store based barrier\n",
    "MultiWorkerMirroredStrategy cannot find the other workers, the gRPC channel is not up\n",
    'Traceback (most recent call last):\n  File "/e/horovod/driver.py", line 7, in f\n    g()\n'
    '  File "/e/horovod/driver_service.py", line 9, in wait_for_initial_registration\n    timeout.check()\n',
    "Timed out while it waited for 3 machines to join\n",
)

SILENT = ("[rank0] process group ready\n[rank0] step 1 loss 3.0\n",)
