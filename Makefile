# Set-up and the project's commands. All downloads are in PENSTOCK_CACHE, all installed packages in .venv.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: setup setup-dev setup-bench demo test test-unit lint bench chaos test-store test-clusters store-versitygw store-garage store-radosgw lock descriptors api-docs wheel clean python java environment-runtime environment-dev environment-bench environment-clients environment-job-clients uv

# The same in tools/sync and penstock.local.artefacts; an empty variable counts as not set.
export PENSTOCK_CACHE := $(or $(PENSTOCK_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/penstock)
export UV_CACHE_DIR := $(PENSTOCK_CACHE)/uv
# Each has a broker, a Spark or a PostgreSQL of its own: more workers need more memory, not only cores.
TEST_WORKERS ?= 2
# How many of the slowest tests are listed at the end.
DURATIONS ?= 20
export UV_PYTHON_DOWNLOADS := never
ifndef PYTHON
PYTHON := $(shell tools/find-python)
endif
UV := .tools/env/bin/uv
BIN := .venv/bin

setup: java environment-runtime
	@$(BIN)/penstock fetch --quiet-when-cached

setup-dev: java environment-dev environment-clients environment-job-clients
	@$(BIN)/penstock fetch --quiet-when-cached --with-tests

setup-bench: java environment-bench
	@$(BIN)/penstock fetch --quiet-when-cached

demo: setup
	@$(BIN)/penstock demo

# One worker runs all tests of a file, which share a broker and a Spark. The long ones come first.
test: setup-dev
	$(BIN)/pytest -n $(TEST_WORKERS) --durations=$(DURATIONS) --dist loadfile --no-loadscope-reorder tests/integration tests/security tests/unit

test-unit: python environment-dev
	$(BIN)/pytest -n $(TEST_WORKERS) --durations=$(DURATIONS) tests/unit

lint: python environment-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Faults at every step of a batch for every sink, on a million records; CHAOS="--records 20000 --faults 10 --seed 7" for less.
chaos: setup-dev
	$(BIN)/python -m tests.chaos $(CHAOS)

# S3 stores that others wrote, for tests: each target installs one, test-store runs the tests of stores on it.
STORE ?= s3proxy
STORES := $(PENSTOCK_CACHE)/stores
test-store: setup-dev
	PENSTOCK_TEST_STORE=$(STORE) $(BIN)/pytest tests/integration/stores

store-versitygw:
	GOBIN=$(STORES)/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

store-garage:
	cargo install garage --version 2.5.0 --locked --root $(STORES)

store-radosgw:
	apt-get install --yes --no-install-recommends radosgw ceph-mon ceph-osd ceph-common

# Pipelines on YARN and HDFS, Hadoop's own daemons as processes; containers are killed. Four minutes, 3 GB of memory.
test-clusters: setup-dev
	$(BIN)/pytest -n 0 --durations=$(DURATIONS) tests/clusters

# Several servers on one PostgreSQL, killed, stopped and restarted under load; SERVERS="--rounds 1 --stopped 30 --seed 7" for less.
servers: setup-dev
	$(BIN)/python -m tests.servers $(SERVERS)

bench: setup-bench
	$(BIN)/python -m benchmarks

# The pages of docs/api, from the docstrings.
api-docs: python environment-dev
	$(BIN)/python tools/api-docs

wheel: python uv
	$(UV) build --wheel --quiet --require-hashes --build-constraints locks/build.txt
	@ls dist/*.whl

# Check the machine before anything is downloaded.
python:
	@tools/check-machine "$(PYTHON)"

java:
	@tools/check-machine "$(PYTHON)" java

# One environment per lock: runtime for the demo, dev adds the checks, bench adds the server to compare with; clients and
# job-clients stand beside them, because their packages need other versions of some that dev has.
environment-runtime environment-dev environment-bench environment-clients environment-job-clients: environment-%:
	@"$(PYTHON)" tools/sync $*

uv:
	@"$(PYTHON)" tools/sync uv

# The locks have hashes and no addresses, so that any mirror works (docs/adr/0002). Each one includes the one before.
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url
lock: python uv
	$(COMPILE) --extra all pyproject.toml -o locks/runtime.txt
	$(COMPILE) --extra all --group dev -c locks/runtime.txt pyproject.toml -o locks/dev.txt
	$(COMPILE) --extra all --group dev --group bench -c locks/dev.txt pyproject.toml -o locks/bench.txt
	$(COMPILE) --no-annotate locks/clients.in -o locks/clients.txt
	$(COMPILE) --no-annotate locks/job-clients.in -o locks/job-clients.txt
	$(COMPILE) --no-annotate -c locks/dev.txt locks/build.in -o locks/build.txt
	$(COMPILE) --no-annotate locks/uv.in -o locks/uv.txt

# The compiled .proto files, which lie beside them; a test compares the two.
PROTO = src/penstock/serdes/kinesis/aggregated_record
descriptors: environment-dev
	.venv/bin/python -m grpc_tools.protoc -I$(dir $(PROTO)) --descriptor_set_out=$(PROTO).binpb $(notdir $(PROTO)).proto

clean:
	rm -rf .venv .tools dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
