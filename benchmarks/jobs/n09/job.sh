python -m pytest -p no:cacheprovider -v -rxX --tb=short -s tests/ && MASTER_PORT=4509 python -u smoke.py
