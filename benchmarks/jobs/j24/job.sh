python make_csv.py
bash run.sh
