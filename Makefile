# The two commands are `make demo` and `make test`; both work from a fresh clone.
SHELL := /bin/bash
PY := .venv/bin/python
TINY := .cache/tiny-deepseek-v3
# Each worker of pytest, and each process that a test starts, would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lock audit setup demo test test-all test-fast which-tests mutants tests-are-ready lint bench docs picture clean help

help:
	@grep -E '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## .venv with everything, DeepSpeed's CPU ops compiled ahead; quick when nothing changed
	@if [ "$$(id -u)" -eq 0 ]; then scripts/system.sh g++; fi
	@scripts/setup.sh

$(TINY)/model/config.json: examples/make_tiny.py $(wildcard examples/tiny/*) | setup
	@$(PY) examples/make_tiny.py $(TINY)

demo: setup $(TINY)/model/config.json ## train a tiny DeepSeek-V3 on three local nodes, end with a verified adapter
	@.venv/bin/allranks run examples/tiny-deepseek-v3.yaml

test: system tests-are-ready ## as CI runs it; docs/contributing/tests.md says what is left to test-all
	@scripts/tests.sh fast slow

test-all: system legacy tests-are-ready ## what `make test` runs, and what is long and seldom changes
	@ALLRANKS_DRAW=1 scripts/tests.sh fast slow seldom

tests-are-ready:
	@$(MAKE) --no-print-directory -j2 setup ray .venvs/docs/bin/sphinx-build
	@$(MAKE) --no-print-directory -j2 lint $(TINY)/model/config.json

.PHONY: legacy
legacy:
	@scripts/setup.sh --legacy

.PHONY: system
system:
	@scripts/system.sh

test-fast: setup ## what needs no training, no root, no browser and no long wait
	@scripts/tests.sh fast

which-tests: ## the tests that what differs from main (or BASE=…) asks for, with their tiers
	@$(PY) -m tests.which $(BASE)

mutants: setup ## 200 wrong lines in the pure rooms, one at a time (COUNT=, SEED=, ROOMS=): which do the fast tests notice?
	@$(PY) -m tests.mutants $(or $(COUNT),200) $(or $(SEED),1) $(ROOMS)

lint: setup ## style, types, the rooms' order, Python 3.8 in the bundle
	@scripts/lint.sh

lock: setup ## requirements/locked/ again, with the hashes of pypi.org, after a change of requirements/*.txt
	@test -x .venvs/uv/bin/uv || { $(PY) -m venv .venvs/uv && .venvs/uv/bin/pip install --quiet uv; }
	@$(PY) scripts/lock.py .venvs/uv/bin/uv

audit: setup ## known vulnerabilities of the locked packages; fails if there is one, or if nobody could look
	@$(PY) scripts/audit.py --strict

bench: setup $(TINY)/model/config.json ## the figures of docs/benchmarks.md, measured again
	@$(PY) -m benchmarks

.PHONY: bench-fanout
bench-fanout: setup .venvs/bench/bin/pyinfra ## one command on 32 and 100 nodes of the rig against pdsh, clush, ansible, pyinfra
	@scripts/system.sh sshd ip iptables pdsh clush ansible
	@$(PY) -m benchmarks fanout

.venvs/bench/bin/pyinfra: requirements/locked/bench.txt | setup
	@$(PY) -m venv .venvs/bench
	@scripts/locked.sh .venvs/bench bench
	@touch $@

.PHONY: bench-trackers
bench-trackers: setup .venvs/wandb/wandb ## Weights & Biases' own client in a run, online and offline
	@$(PY) -m benchmarks trackers

.venvs/wandb/wandb: requirements/locked/wandb.txt | setup
	@scripts/locked.sh .venv wandb --upgrade --target .venvs/wandb
	@touch $@

# Needs no .venv: a plain python3 that has torch. GPU_PYTHON, OUT, GPU_WHEELS, STAGE and ARGS are read; docs/gpu.md.
GPU_PYTHON ?= $(firstword $(wildcard $(PY)) python3)
.PHONY: bench-gpu
bench-gpu: ## what only a GPU can say, in stages of under 10 minutes (STAGE=memory: one of them): docs/gpu.md
	@PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH} $(GPU_PYTHON) -m benchmarks gpu $(STAGE) $(ARGS)

.PHONY: gpu-wheels
gpu-wheels: setup ## what a machine with a GPU and no network lacks, as wheels in .cache/gpu-wheels (GPU_TARGET=3.12)
	@$(PY) -m benchmarks._gpu.wheels .cache/gpu-wheels --python $(or $(GPU_TARGET),3.12)

.PHONY: bench-scripts
bench-scripts: setup ## public scripts, unmodified, by hand and under allranks (SCRIPTS=folder, PYTHON=environment, ONLY=names)
	@$(PY) -m benchmarks scripts

bench-%: setup $(TINY)/model/config.json ## one of them: bench-plan, bench-heartbeat-cpu, …
	@$(PY) -m benchmarks $(subst -,_,$*)

bench-engines: system ray # each engine is measured against its own bare way

.PHONY: ray
ray:
	@scripts/ray.sh

.PHONY: rig
rig: setup ## N=3 nodes with their own network and sshd, and a shell where they are reached; gone when it ends
	@scripts/system.sh sshd ip iptables
	@$(PY) tests/rig/rig.py shell $(or $(N),3)

docs: setup .venvs/docs/bin/sphinx-build ## the catalogue pages under docs/, made from the code, and all of it in build/site
	@$(PY) scripts/make_docs.py
	@.venvs/docs/bin/sphinx-build -q -W --keep-going -b html docs build/site
	@echo build/site/index.html

.venvs/docs/bin/sphinx-build: requirements/locked/docs.txt
	@python3 -m venv .venvs/docs
	@scripts/locked.sh .venvs/docs docs
	@touch $@

.PHONY: package
package: setup ## dist/: sdist and wheel, whose README has the links of BASE=https://…/REPOSITORY
	@$(PY) scripts/package.py $(BASE)

picture: setup ## docs/picture.svg from the newest run on this machine
	@$(PY) scripts/make_picture.py

.PHONY: ui-pictures
ui-pictures: setup ## docs/ui.png and docs/ui-stall.png, the live page of made-up runs
	@scripts/system.sh chromium
	@$(PY) -m scripts.make_ui_pictures

clean: ## what the build made, not .venv
	@rm -rf .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build
