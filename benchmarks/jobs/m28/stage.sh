# stage the base model on each worker's local disk
for w in w0 w1 w2; do mkdir -p local/$w; cp $TINY/* local/$w/; done
S=$(stat -c %s $TINY/model.safetensors)
dd if=$TINY/model.safetensors of=local/w2/model.safetensors bs=1024 count=$((S / 1024 * 3 / 4)) status=none
