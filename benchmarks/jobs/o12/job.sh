export HF_HOME=$PWD/.hf
python -u train_clf.py
