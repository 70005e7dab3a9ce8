export WORLD=2 EPOCHS=3
echo "== $(python --version), lora fine-tune, $WORLD ranks, $EPOCHS epochs"
mpirun --allow-run-as-root --oversubscribe -n $WORLD python scripts/train_lora.py --epochs $EPOCHS --base $TINY
