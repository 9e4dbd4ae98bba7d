# Every target does its own set-up; a fresh machine needs only Python 3.11 and make (and Chromium, for `make test`).
PORT ?= 8080
SANDBOX_PORT ?= 8081
DATA ?= ./data

UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
BIN := .venv/bin
PROJECTS := pyproject.toml $(wildcard packages/*/pyproject.toml)
LOCAL := -e . $(patsubst %/pyproject.toml,-e %,$(wildcard packages/*/pyproject.toml))
DASHBOARD := src/gatepost/console/built/index.html
DASHBOARD_SOURCES := $(shell find dashboard \( -name node_modules -o -path dashboard/phone \) -prune -o -type f -not -name schema.d.ts -print)
PHONE := packages/gatepost-sandbox/src/gatepost_sandbox/page/built/index.html
PHONE_SOURCES := $(shell find dashboard/phone dashboard/build -type f) dashboard/package-lock.json dashboard/tsconfig.json

.PHONY: run test test-all check docs dashboard bench faults upgrade-check client lock packages deploy-check version release clean

run: export UV := $(UV)
run: .venv/run $(DASHBOARD) $(PHONE)
	@$(BIN)/gatepost up --port $(PORT) --sandbox-port $(SANDBOX_PORT) --data $(DATA)

# Four processes: tests wait for timers and other processes for half of their time, so two cores can run four of them.
test: export PYTHONDONTWRITEBYTECODE :=
test: export UV := $(UV)
test: .venv/dev $(DASHBOARD) $(PHONE)
	@$(BIN)/python -m scripts.dashboard test
	@$(BIN)/python -m pytest -n 4 --dist worksteal

# All tests, with those of which `make test` runs a sample of the day: in a browser, of faults, of whole programs.
test-all: export GATEPOST_TESTS_THOROUGH := 1
test-all: test

# Writes the pages of docs/reference that are generated from the source.
docs: .venv/dev
	@$(BIN)/python -m tests.docs.generate

check: .venv/dev dashboard/openapi.json
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_architecture.py
	@$(BIN)/python -m scripts.dashboard check

# Builds the dashboard and the page of the sandbox into their packages, if their sources or the API have changed.
dashboard: export UV := $(UV)
dashboard: $(DASHBOARD) $(PHONE)

$(DASHBOARD): $(DASHBOARD_SOURCES) dashboard/openapi.json | .venv/run
	@$(BIN)/python -m scripts.dashboard build

$(PHONE): $(PHONE_SOURCES) | .venv/run
	@$(BIN)/python -m scripts.dashboard phone

# The document is written only if it has changed; a change of the API that the dashboard does not expect fails its build.
dashboard/openapi.json: .venv/openapi ;

.venv/openapi: $(shell find src/gatepost/api src/gatepost/model -name '*.py') | .venv/run
	@$(BIN)/python -m scripts.openapi_document dashboard/openapi.json
	@touch $@

# `make bench` measures everything, `make bench hostile` (or any other part) only that.
PARTS := accept cells channels dashboard history hostile life lives mcp memory owners pages processes screen start throughput webhooks
bench: .venv/dev
	@$(BIN)/python -m bench $(filter $(PARTS),$(MAKECMDGOALS))

ifneq ($(filter bench,$(MAKECMDGOALS)),)
.PHONY: $(PARTS)
$(PARTS): ;@:
endif

# Faults under load, then a comparison of all records. `make faults ONLY="freeze cut-off" SEED=7 MINUTES=10`
faults: .venv/dev
	@$(BIN)/python -m faults $(ONLY:%=--only %) $(SEED:%=--seed %) $(MINUTES:%=--minutes %)

# The code before the newest migration, from the history of git, beside the current code on one database.
upgrade-check: .venv/dev
	@$(BIN)/python -m faults --only upgrade $(SEED:%=--seed %) $(MINUTES:%=--minutes %)

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
packages: .venv/dev $(DASHBOARD) $(PHONE)
	@UV=$(UV) $(BIN)/python -m tests.packages.install

# Writes a version to every file that has it: make version TO=0.2.0
version: .venv/run
	@$(BIN)/python -m scripts.versions $(TO)

# Builds a release into dist/, and installs and runs it on each Python that is here. DRAFT=1: before it is complete.
release: export UV := $(UV)
release: .venv/dev $(DASHBOARD) $(PHONE)
	@$(BIN)/python -m scripts.release $(if $(DRAFT),--draft)
	@$(BIN)/python -m tests.packages.install dist

# Checks the Dockerfile, the Helm chart, compose.yaml and the systemd unit with their own tools.
deploy-check: .venv/dev
	@UV=$(UV) $(BIN)/python -m tests.deploy.check

.uv/bin/uv:
	@echo "Installing uv into .uv"
	@python3 -m venv .uv || { echo "Python's venv module is missing: apt install python3-venv"; exit 1; }
	@.uv/bin/pip install -q uv

clean:
	rm -rf .venv .uv .pytest_cache .mypy_cache .ruff_cache
