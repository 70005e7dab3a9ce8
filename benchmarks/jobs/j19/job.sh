python export.py
rm -rf hf
HF_HUB_OFFLINE=1 mpirun --allow-run-as-root --oversubscribe -np 2 python sft.py
