# Every target does its own set-up; a fresh machine needs only Python 3.11 and make.
PORT ?= 8080
SANDBOX_PORT ?= 8081
DATA ?= ./data

UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
BIN := .venv/bin
PROJECTS := pyproject.toml $(wildcard packages/*/pyproject.toml)
LOCAL := -e . $(patsubst %/pyproject.toml,-e %,$(wildcard packages/*/pyproject.toml))

.PHONY: run test faults check docs bench client lock packages clean

run: .venv/run
	@$(BIN)/gatepost up --port $(PORT) --sandbox-port $(SANDBOX_PORT) --data $(DATA)

# Four processes: tests wait for timers and other processes for half of their time, so two cores can run four of them.
test: export PYTHONDONTWRITEBYTECODE :=
test: export UV := $(UV)
test: .venv/dev
	@$(BIN)/python -m pytest -n 4 --dist worksteal

# All rows of the matrices of which `make test` runs a sample.
faults: export GATEPOST_TESTS_THOROUGH := 1
faults: .venv/dev
	@$(BIN)/python -m pytest -n 2 --dist worksteal $$(grep -rl --include='test_*.py' 'tests.thorough' tests)

# Writes the pages of docs/reference that are generated from the source.
docs: .venv/dev
	@$(BIN)/python -m tests.docs.generate

check: .venv/dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_architecture.py

# `make bench` measures everything, `make bench hostile` (or any other part) only that.
PARTS := accept history hostile life memory start throughput webhooks
bench: .venv/dev
	@$(BIN)/python -m bench $(filter $(PARTS),$(MAKECMDGOALS))

ifneq ($(filter bench,$(MAKECMDGOALS)),)
.PHONY: $(PARTS)
$(PARTS): ;@:
endif

# Writes the Python client's types from the OpenAPI document.
client: .venv/dev
	@$(BIN)/python -m scripts.client_types

# The two requirement files are the lock: exact versions with hashes, and no address of any registry.
lock: $(UV)
	$(UV) pip compile -q --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --python-version 3.11 $(PROJECTS) -o requirements.txt
	$(UV) pip compile -q --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --python-version 3.11 --extra dev -c requirements.txt $(PROJECTS) -o requirements-dev.txt

.venv/run: requirements.txt $(PROJECTS) | $(UV)
	@if test -e .venv/dev; then $(MAKE) -s .venv/dev; else $(UV) venv -q --allow-existing .venv \
	  && $(UV) pip sync -q --require-hashes requirements.txt && $(UV) pip install -q --no-deps $(LOCAL); fi
	@touch $@

.venv/dev: requirements-dev.txt $(PROJECTS) $(wildcard tests/npm/*/package-lock.json) | $(UV)
	@$(UV) venv -q --allow-existing .venv
	@$(UV) pip sync -q --require-hashes requirements-dev.txt
	@$(UV) pip install -q --no-deps $(LOCAL)
	@$(BIN)/gatepost qr install > /dev/null
	@$(BIN)/python -m tests.node
	@touch $@

# Installs each package alone into a virtual environment of its own, and runs it.
packages: .venv/dev
	@UV=$(UV) $(BIN)/python -m tests.packages.install

.uv/bin/uv:
	@echo "Installing uv into .uv"
	@python3 -m venv .uv || { echo "Python's venv module is missing: apt install python3-venv"; exit 1; }
	@.uv/bin/pip install -q uv

clean:
	rm -rf .venv .uv .pytest_cache .mypy_cache .ruff_cache
