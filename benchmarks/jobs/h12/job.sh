L=$PWD/libs
mpirun --allow-run-as-root --oversubscribe \
  -np 2 -x PYTHONPATH=$L/common:$L/eval python sft.py : \
  -np 1 -x PYTHONPATH=$L/common python sft.py
