# Set-up and the project's commands. Everything downloaded lives in PENSTOCK_CACHE; everything installed in .venv.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: setup setup-dev demo test test-unit lint bench lock wheel clean

export PENSTOCK_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/penstock
export UV_CACHE_DIR := $(PENSTOCK_CACHE)/uv
export PIP_CACHE_DIR := $(PENSTOCK_CACHE)/pip
export UV_PYTHON_DOWNLOADS := never
UV_VERSION := 0.13.8
PYTHON ?= $(shell tools/find-python)
UV := .tools/bin/uv
BIN := .venv/bin

setup: .venv/.runtime
	@$(BIN)/penstock fetch --quiet-when-cached

setup-dev: .venv/.dev
	@$(BIN)/penstock fetch --quiet-when-cached --with-tests

demo: setup
	$(BIN)/penstock demo

test: setup-dev
	$(BIN)/pytest

test-unit: .venv/.dev
	$(BIN)/pytest tests/unit

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.bench
	@$(BIN)/penstock fetch --quiet-when-cached
	$(BIN)/python -m benchmarks

wheel: $(UV)
	$(UV) build --wheel

$(UV):
	@tools/check-machine "$(PYTHON)"
	@"$(PYTHON)" -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# One environment a lock: runtime for the demo, dev adds the checks, bench adds the server we compare with.
.venv/.runtime: $(UV) locks/runtime.txt pyproject.toml
	@tools/check-machine "$(PYTHON)"
	@test -e .venv/.dev -o -e .venv/.bench || tools/sync locks/runtime.txt
	@touch $@

.venv/.dev: $(UV) locks/dev.txt pyproject.toml
	@tools/check-machine "$(PYTHON)"
	@tools/sync locks/dev.txt
	@mkdir -p .venv && touch $@ .venv/.runtime

.venv/.bench: $(UV) locks/bench.txt pyproject.toml
	@tools/sync locks/bench.txt
	@touch $@

# The locks carry hashes and no addresses, so that any mirror serves them (docs/adr/0002).
lock: $(UV)
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra all pyproject.toml -o locks/runtime.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra all --group dev -c locks/runtime.txt pyproject.toml -o locks/dev.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --extra all --group dev --group bench -c locks/dev.txt pyproject.toml -o locks/bench.txt

clean:
	rm -rf .venv .tools dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
