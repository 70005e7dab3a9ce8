cp -r $TINY base
FORCE_TORCHRUN=1 NPROC_PER_NODE=2 MASTER_PORT=41715 llamafactory-cli train full_sft.yaml
