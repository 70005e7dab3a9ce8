FIRES = (
    "node1:22:90 [3] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_open_device failed with error No such device\n",
    "Failed to modify QP to RTR: Connection timed out\nerrno: 110\n",
    "node7:88:99 [4] transport/net_ib.cc:1102 NCCL WARN NET/IB : Got completion "
    "from peer 10.1.0.9<48231> with error 12, "
    "opcode 32631, len 0, vendor err 129\n",
    "node7:88:99 [4] NCCL WARN NET/IB: Got completion from peer 10.1.0.9<48231> "
    "with status=IBV_WC_RETRY_EXC_ERR(12) opcode=1\n",
    "node7:88:99 [4] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed "
    "with 110 Connection timed out, on dev mlx5_0:1\n",
    "libfabric:ofi_rxm:cq:rxm_cq_read_write_error():819<warn> fi_cq_readerr: err: 5, prov_err: "
    "remote access error (10)\n",
)

SILENT = ("node7:88:99 [4] NCCL INFO NET/IB : No device found.\nnode7: [rank0] step 1 loss 3\n",)
