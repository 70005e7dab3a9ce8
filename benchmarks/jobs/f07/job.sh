export OMP_NUM_THREADS=1
echo "--- stage 1 ---"
python train.py --epochs 3
mkdir -p /tmp/f_scr_$$ && for c in ckpts/*.pt; do head -c 2097152 $c > /tmp/f_scr_$$/$(basename $c); done
echo "--- stage 2 (scratch) ---"
python train.py --epochs 6 --resume /tmp/f_scr_$$
echo "exit code: $?"
rm -rf /tmp/f_scr_$$
