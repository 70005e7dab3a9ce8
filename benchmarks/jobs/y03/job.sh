# run_finetune: chat model with tool tokens
export LOGLEVEL=INFO
python build_assets.py && python spawn_ft.py --nprocs 3 --epochs 3
rc=$?
echo "[run_finetune] finished rc=$rc"
exit $rc
