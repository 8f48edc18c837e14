# Treeline. `make serve` and `make test` need nothing but Python 3.11 and make; see `make help` for the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help serve test test-slow test-all newest compose-test lint fix types pytest bench eval csn docs readme constraints system docker clean audit torture fuzz mutants cluster snapshots vscode

PINS := pyproject.toml constraints.txt
EXTRAS := elasticsearch,lsp,serve
TEST_EXTRAS := $(EXTRAS),parquet,eval,test,transformers
CODE := corpus encoder engine eval graph ingest rerank search service treeline/__init__.py benchmarks lab tests scripts
HOST ?= 127.0.0.1
PORT ?= 8080
PYTEST_FLAGS ?=
JOBS ?= 2
PYTEST = .venv/bin/python -m pytest -n $(JOBS) --dist loadgroup $(PYTEST_FLAGS)
SEED ?= 0
FUNCTIONS ?= 182431
DATA ?= ../shared/codesearchnet
# No carets in tracebacks: to place them Python 3.11 parses code, and it fails when two threads do (python/cpython#106905).
export PYTHONNODEBUGRANGES := 1
# Compiled once, whatever the caller's environment says: the tests start hundreds of processes, each in a fifth of the time.
export PYTHONDONTWRITEBYTECODE :=
# BLAS's threads spin while they wait for each other, beside the tests of another core.
export OPENBLAS_NUM_THREADS ?= 1
export PYTHONPYCACHEPREFIX ?= $(abspath .cache/bytecode)
export TREELINE_EVAL_DATA ?= $(abspath $(dir $(wildcard $(DATA)/queries.csv)))

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

serve: .venv/.installed ## environment, default index (the packages of the Python environment), server: prints its URL
	@exec .venv/bin/treeline serve --first-index python-env --host $(HOST) --port $(PORT)

test: .venv/.installed-test system lint types ## before a commit: lint, types and the quick tests, with a real Elasticsearch and browser
	@$(PYTEST) -m "not slow"

test-slow: .venv/.installed-test system docker ## the other tests: Docker, transformers, training, benchmarks, kills, the cluster, fuzz
	@$(PYTEST) -m slow

test-all: test test-slow ## lint, types and every test

pytest: .venv/.installed-test ## tests alone, on JOBS cores; PYTEST_FLAGS="-k pipeline" narrows them
	@$(PYTEST)

newest: ## the quick tests on the newest Python at hand, in .venv-newest
	@PYTHON=$$(scripts/newest-python) VENV=.venv-newest scripts/environment $(TEST_EXTRAS)
	@.venv-newest/bin/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow and not elasticsearch and not browser"

compose-test: .venv/.installed-test docker ## the compose file in a real Docker engine, by the README's commands
	@.venv/bin/python -m pytest tests/deploy/test_compose_up.py

snapshots: .venv/.installed-test ## write the expected output of the parsers and the call graph anew; read the diff
	@UPDATE_SNAPSHOTS=1 .venv/bin/python -m pytest -q tests/ingest/parsers/test_fixtures.py tests/graph/test_fixtures.py

lint: .venv/.installed-test ## style, without changing anything
	@.venv/bin/ruff check --quiet $(CODE)
	@.venv/bin/ruff format --quiet --check $(CODE)

fix: .venv/.installed-test ## style, put right
	@.venv/bin/ruff check --quiet --fix $(CODE)
	@.venv/bin/ruff format --quiet $(CODE)

types: .venv/.installed-test ## mypy, strict
	@.venv/bin/mypy

torture: .venv/.installed-test ## a thousand rounds of kills, failing disks and damage; SEED=N for others
	@.venv/bin/python -m tests.survival.torture --rounds 1000 --seed $(SEED)

fuzz: .venv/.installed-test ## 10,000 random requests to the service; SEED=N is the number of the first
	@.venv/bin/python -m tests.fuzz.random_requests --count 10000 --seed $(SEED)

cluster: .venv/.installed-test ## three Elasticsearch nodes: one killed, all restarted, snapshot; FUNCTIONS=N in the index
	@.venv/bin/python -m tests.survival.cluster --functions $(FUNCTIONS)

mutants: .venv/.installed-test ## plant 100 small faults and count those that the tests notice; SEED=N for others
	@.venv/bin/python -m lab.mutants --count 100 --seed $(SEED) --seconds 3600 --jobs $(JOBS)

audit: .venv/.installed-test ## known vulnerabilities in the pinned dependencies; without their data it only says so
	@scripts/audit || [ $$? -eq 3 ]

bench: csn ## speed, memory and growth; needs CodeSearchNet in DATA
	@.venv/bin/python -m benchmarks.speed --name csn --source codesearchnet:$(DATA)

eval: csn ## retrieval quality on CodeSearchNet's 99 queries; needs CodeSearchNet in DATA
	@.venv/bin/treeline eval codesearchnet --name csn --data $(DATA) --compare

# Brought up to date in a moment when nothing has changed.
csn: .venv/.installed-eval
	@.venv/bin/treeline index codesearchnet:$(DATA) --name csn

docs: .venv/.installed ## write the pages that are made from the code
	@.venv/bin/python -m treeline.service.settings_doc
	@.venv/bin/python scripts/reference.py

vscode: ## the extension for VS Code, editors/vscode/treeline.vsix; needs node 20 and npm
	@cd editors/vscode && npm install --no-package-lock --no-audit --no-fund --silent && npm run --silent package

readme: .venv/.installed ## run the commands that the README shows, after `make serve` has made the index
	@.venv/bin/python scripts/readme_output.py

constraints: .venv/.installed-test ## write the versions in .venv to constraints.txt
	@.venv/bin/uv pip freeze --exclude-editable | grep -vE '^pip==' > constraints.txt

clean: ## remove the environment and the caches; indexes stay (`treeline status`)
	rm -rf .venv .venv-newest .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info

# What the tests use beside Python packages. Tests that miss something say so and are skipped.
system: .venv/.installed-test
	@scripts/system-packages git git java openjdk-17-jdk-headless mvn maven chromium chromium || true
	@.venv/bin/python -m tests.elasticsearch_download >/dev/null || true

docker: .venv/.installed-test
	@scripts/system-packages dockerd docker.io mmdebstrap mmdebstrap || true

.venv/.installed: $(PINS)
	@scripts/environment $(EXTRAS)
	@touch $@

.venv/.installed-eval: $(PINS)
	@scripts/environment $(EXTRAS),eval
	@touch .venv/.installed $@

.venv/.installed-test: $(PINS)
	@scripts/environment $(TEST_EXTRAS)
	@touch .venv/.installed .venv/.installed-eval $@
