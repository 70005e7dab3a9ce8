cp -r "$TINY" encoder
python run_classifier.py
