cp -r $TINY base
export FORCE_TORCHRUN=1 NPROC_PER_NODE=2 MASTER_PORT=41733
llamafactory-cli train qlora.yaml
