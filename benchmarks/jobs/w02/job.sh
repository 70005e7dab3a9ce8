#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47802
python export_dialogs.py dialogs && python sft.py --data dialogs --ranks 3
