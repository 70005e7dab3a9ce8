FIRES = (
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]: torch.distributed.DistNetworkError: Ping failed, invalid value returned from server. "
    "Expected: 4242, Got: 1347703880\n",
)

SILENT = (
    "Traceback (most recent call last):\ntorch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
)
