export OMP_NUM_THREADS=1
pip list 2>/dev/null | grep -iE "^(torch|transformers|accelerate|datasets) "
python train_ner.py
