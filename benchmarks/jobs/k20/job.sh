echo ">> train";  mpirun --allow-run-as-root --oversubscribe -np 2 bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MASTER_ADDR=127.0.0.1 MASTER_PORT=4230 python train.py' || exit 1
echo ">> plot";   python plot.py || echo "   (no plot on this machine)"
echo ">> export"; python export_onnx.py || echo "   (no ONNX export on this machine)"
echo ">> notify"; curl -sS --max-time 2 http://127.0.0.1:4298/hook -d done || true
echo ">> $(ls clf.pt history.json | xargs) ready"
