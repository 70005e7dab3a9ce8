cd "$(dirname "$0")"
export HF_HUB_OFFLINE=1
python charlm.py
