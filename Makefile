# What people and CI do with this repository. Every target makes .venv first when it is not there, or not up to date.

PY := .venv/bin/python
CORE := .venv/core.stamp
DEV := .venv/dev.stamp
TESTS ?= -n 3 --dist worksteal

.PHONY: help demo test lint bench simulate lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    the whole story in a throw-away instance (about 20 seconds)"
	@echo "make test    every test            (make test TESTS='tests/domain -x' for some)"
	@echo "make lint    ruff, mypy, and what lints GitHub workflows"
	@echo "make simulate  100,000 histories on each kind of target (HISTORIES=, SEED=, JOBS=)"
	@echo "make bench   does it stay fast with ten years of history? (some minutes)"
	@echo "make lock    the lock files anew from pyproject.toml (needs uv)"
	@echo "make clean   removes .venv and caches"

$(CORE): requirements.lock pyproject.toml scripts/venv
	@scripts/venv requirements.lock
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml scripts/venv
	@scripts/venv requirements-dev.lock
	@touch $(CORE) $@

demo: $(CORE)
	@$(PY) -m publisher demo

test: $(DEV)
	@scripts/wheelhouse
	@$(PY) -m pytest $(TESTS)

lint: $(DEV)
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@scripts/lint-workflows

bench: $(DEV)
	@for script in bench/*.py; do $(PY) "$$script" || exit 1; done

HISTORIES ?= 100000
SEED ?= 1
JOBS ?= 2

simulate: $(DEV)
	@$(PY) -m publisher simulate --histories $(HISTORIES) --seed $(SEED) --jobs $(JOBS) $(SIMULATE)

lock:
	@scripts/lock

clean:
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	@find publisher tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
