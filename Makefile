# Every target sets up what it needs first; `make help` lists them.

PYTHON ?= python3
# One more than the processors: tests wait for engines, browsers and other processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Of all tests together: many wait for browsers and programs. With one fewer, a seventh of two processors was idle.
TEST_WORKERS ?= $(shell expr $(WORKERS) + 2)
SOAK_WORKERS ?= 2
SAMPLE ?= 30
SEED ?= 1

# Where it is set, each of a thousand processes that the tests start compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# A folder is checked from the day it holds something.
CODE := $(wildcard src tests conftest.py examples benchmarks requirements tools packages)
PYTHON_READY := .venv/.ready
# Of the library and of what is beside it. The engine's have what others publish, which is not installed from here.
PROJECTS := pyproject.toml $(filter-out packages/engine/% packages/engine_python/%,$(wildcard packages/*/pyproject.toml examples/*/pyproject.toml))
# Of the library, the local engine and the applications.
DEMO_PROJECTS := $(filter-out packages/%,$(PROJECTS)) packages/local/pyproject.toml
DEMO_READY := .venv/.ready-for-demo
EMULATORS_READY := .venv-emulators/.ready
TOOLS_READY := .venv-tools/.ready
PEERS_READY := .venv-peers/.ready
# Only files whose hashes are in the list are installed.
INSTALL := -m pip install --quiet --disable-pip-version-check --require-hashes --requirement
EDITABLE = -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	$(patsubst %,--editable %,$(dir $(1:%=./%)))
NODE_READY := node_modules/.ready
# Of the documentation: links, entries, docstrings.
DOCUMENTED := tests/docs/test_links.py tests/docs/test_api.py tests/docs/test_reference.py
OTHER_ENGINES := build/test-other-engines.log
# Both type checkers run at once.
PYRIGHT_SAID := build/pyright.log
ONE_SHELL := -k "not (ministack and awaiting) and not (moto and blocking)"
# Each of them imports tests/support/no_engine.py.
QUICK := tests/unit tests/property tests/architecture tests/typing tests/docs/test_links.py tests/docs/test_reference.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo quick test test-all engines soak scan check mutants mutants-map aws audit bench wheels release docs screenshots format setup pins clean need-python need-npm

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(if $(wildcard $(PYTHON_READY)),setup,$(DEMO_READY)) ## see the library at work, on the embedded engine
	$(BIN)/python -m examples_demo --keep data/demo

quick: $(PYTHON_READY) ## the tests that need no engine, no browser and no network; under a minute
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest --forks $(WORKERS) -m "not soak" $(QUICK)

test: setup ## every test but the long runs
	$(BIN)/pytest --forks $(TEST_WORKERS) -m "not soak"

# Environments of their own, in .venvs: the first run makes them.
test-all: setup ## every test but the long runs, on every Python at hand; ARGS="tests/unit"
	WORKERS=$(WORKERS) $(BIN)/python -m tools.pythons test $(ARGS)

# Not part of `make test`: a part of it runs in `make soak`. AREAS="tests/streams" takes a part.
AREAS = tests
scan: setup ## all tests, held against what the library says of their data; AREAS="tests/streams"
	$(BIN)/pytest --scan-output --forks $(TEST_WORKERS) -m "not soak" $(AREAS)

# Not part of `make test`: it takes many times as long.
engines: setup ## layers on the engine in Python, ministack, moto and dynalite, with their lists of differences; ENGINES="dynalite"
	$(BIN)/python -m tests.engines --workers $(WORKERS) $(ENGINES)

# Both shells send the same requests: ministack hears the tests of one, moto those of the other. `make engines` runs both.
# They run beside the others, whose workers often wait; what they say comes after it.
soak: setup ## the long runs; and the engine's tests on ministack and moto
	@mkdir -p $(dir $(OTHER_ENGINES)); \
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -m "not soak" \
		--engine ministack --engine moto $(ONE_SHELL) tests/engine >$(OTHER_ENGINES) 2>&1 & others=$$!; \
	trap 'kill $$others 2>/dev/null' EXIT INT TERM; \
	failed=0; $(BIN)/pytest -n $(SOAK_WORKERS) --dist worksteal -m soak || failed=$$?; \
	wait $$others || failed=$$?; cat $(OTHER_ENGINES); exit $$failed

check: setup ## lint, format, generated modules, pictures, both type checkers, the import contract, the documentation's links and names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tools.blocking --check
	$(BIN)/python -m tools.screenshots --check
	@mkdir -p $(dir $(PYRIGHT_SAID)); node_modules/.bin/pyright >$(PYRIGHT_SAID) 2>&1 & other=$$!; \
	failed=0; $(BIN)/mypy $(CODE) || failed=$$?; \
	wait $$other || failed=$$?; cat $(PYRIGHT_SAID); exit $$failed
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet -n $(WORKERS) $(DOCUMENTED)

# The map is made once, and again with `make mutants-map`: of all tests it takes as long as they do, of an area minutes.
mutants: setup ## try SAMPLE=30 small changes of the library (SEED=1) against the tests that run them; AREA=edges
	@[ -e .mutants/$(AREA)/lines ] || [ -e .mutants/$(AREA)/sample-$(SAMPLE)-$(SEED)/lines ] || \
		$(BIN)/python -m tools.mutants $(if $(AREA),--area $(AREA)) map --workers $(WORKERS) --sample $(SAMPLE) --seed $(SEED)
	$(BIN)/python -m tools.mutants $(if $(AREA),--area $(AREA)) run --sample $(SAMPLE) --seed $(SEED)

mutants-map: setup
	$(BIN)/python -m tools.mutants $(if $(AREA),--area $(AREA)) map --workers $(WORKERS)

aws: setup ## the engine suites on an AWS account: says the cost, asks, deletes what it made; ARGS="--endpoint URL"
	$(BIN)/python -m tools.aws run $(ARGS)

audit: $(TOOLS_READY) need-npm ## ask for known vulnerabilities of what is pinned
	.venv-tools/bin/python -m requirements.audit

bench: setup $(PEERS_READY) ## measure against other libraries; half an hour; ARGS="--parts peers stages"
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: setup ## take the studio's pictures of the documentation anew where a page changed; ARGS=--check
	$(BIN)/python -m tools.screenshots $(ARGS)

wheels: setup ## build what is installed into dist: each distribution, and the local engine from npm and PyPI
	$(BIN)/python -m tools.wheels

docs: setup ## build the documentation into dist/site: pages that open from a disk
	$(BIN)/python -m tools.site

release: setup ## build, check, try on every Python at hand, list and sum a release, in dist/release; uploads nothing
	$(BIN)/python -m tools.release

format: $(PYTHON_READY) ## format the code and put right what the linter can
	$(BIN)/ruff format .
	$(BIN)/python -m tools.blocking
	$(BIN)/ruff check --fix .

setup: $(PYTHON_READY) $(EMULATORS_READY) $(TOOLS_READY) $(NODE_READY) ## install the Python and npm packages of development, pinned

pins: $(TOOLS_READY) ## write the hashes of the pinned packages anew; UPGRADE=1 for the newest versions
	.venv-tools/bin/python -m requirements.pins $(if $(UPGRADE),--upgrade)

clean: ## delete what the other targets made, the installed packages too
	rm -rf .venv .venvs .venv-emulators .venv-peers .venv-tools node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PYTHON_READY): requirements/dev.txt $(PROJECTS) | need-python
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) requirements/dev.txt
	$(BIN)/python $(call EDITABLE,$(PROJECTS))
	@touch $@

# A part of the same environment, and of npm's the engine alone.
$(DEMO_READY): requirements/demo.txt $(DEMO_PROJECTS) package-lock.json | need-python need-npm
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) requirements/demo.txt
	$(BIN)/python $(call EDITABLE,$(DEMO_PROJECTS))
	npm ci --omit=dev --loglevel=error
	@touch $@

$(EMULATORS_READY): requirements/emulators.txt | need-python
	$(PYTHON) -m venv .venv-emulators
	.venv-emulators/bin/python $(INSTALL) requirements/emulators.txt
	@touch $@

$(PEERS_READY): requirements/peers.txt | need-python
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python $(INSTALL) requirements/peers.txt
	@touch $@

$(TOOLS_READY): requirements/tools.txt | need-python
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python $(INSTALL) requirements/tools.txt
	@touch $@

$(NODE_READY): package.json package-lock.json | need-npm
	npm ci --loglevel=error
	@touch $@

need-python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is missing. Debian, Ubuntu: apt-get install python3 python3-venv. macOS: brew install python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$$($(PYTHON) --version) is too old: Python 3.11 or newer is needed." \
			"Name another: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "Python's venv is missing. Debian, Ubuntu: apt-get install python3-venv" >&2; exit 1; }

need-npm:
	@command -v npm >/dev/null || { \
		echo "npm is missing. Debian, Ubuntu: apt-get install nodejs npm. macOS: brew install node" >&2; exit 1; }
