#!/bin/bash
# weekly recommender refresh. Stages marked ? may fall over, we only want to know.
step()  { echo; echo "##### $1"; shift; "$@" || { rc=$?; echo "##### mandatory stage gave $rc, stopping"; exit $rc; }; }
maybe() { echo; echo "##### $1 ?"; shift; "$@" || echo "##### (optional, rc=$?, carrying on)"; }
step  extract   python flow.py extract
maybe gpu-info  nvidia-smi
step  factorize python flow.py factorize
maybe onnx      python flow.py onnx
maybe notify    python flow.py notify
step  evaluate  python flow.py evaluate
maybe compare   python flow.py compare
step  publish   python flow.py publish
