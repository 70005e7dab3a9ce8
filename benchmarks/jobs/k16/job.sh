bash pretrain.sh
