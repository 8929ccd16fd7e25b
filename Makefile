# Everything a person types. Each target sets up what it needs in .venv and nowhere else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# uv is used when it is on the PATH because it is faster; plain pip does the same.
INSTALL := $(shell command -v uv >/dev/null 2>&1 && echo "VIRTUAL_ENV=$(VENV) uv pip install -q" || echo "$(BIN)/python -m pip install -q --disable-pip-version-check")

.PHONY: help setup services ui demo test robustness soak check docs audit format bench bench-serving bench-worker bench-gateway bench-distributed fuzz proto lock clean

help:
	@echo "make demo     serve the demo shop with its web pages, and print a ranking"
	@echo "make ui       build the web pages into the package (Node 20.19 or newer)"
	@echo "make test     set everything up and run every test"
	@echo "make robustness  break everything a fleet is made of and depends on, and print what was measured"
	@echo "make soak     mixed load with reloads and restarts, for SOAK_SECONDS=600"
	@echo "make services install the servers that tests use (Debian, as root)"
	@echo "make check    lint, types, import contracts, documentation, and no secrets in the repository"
	@echo "make docs     read the documentation as a site"
	@echo "make audit    look up known vulnerabilities of everything that is installed"
	@echo "make bench    measure the engine beside the bare model; make bench-serving: a server under load;"
	@echo "              make bench-worker: a worker beside other servers; make bench-gateway: JSON beside gRPC;"
	@echo "              make bench-distributed: parts in other processes"
	@echo "make fuzz     look for requests that break a server, for SECONDS=300 (Linux)"
	@echo "make setup    only create .venv with everything for development"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Inferflow needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# What a user installs: the base requirements only.
$(VENV)/.base: requirements/base.txt pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --require-hashes -r requirements/base.txt
	$(INSTALL) --no-deps -e .
	@touch $@

# What runs every role: all extras.
$(VENV)/.run: requirements/all.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing Inferflow and all it can use into $(VENV), which takes a minute or two"
	@$(INSTALL) --require-hashes -r requirements/all.txt
	@$(INSTALL) --no-deps -e .
	@touch $@ $(VENV)/.base

# What a developer installs: every extra, the test tools, the linters.
$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --require-hashes -r requirements/dev.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.base $(VENV)/.run

setup: $(VENV)/.dev

# Tests start the servers they need themselves, and are skipped where one is not installed. The C++
# compiler and gRPC for it are for the C++ client, the browser is for the UI.
services:
	@missing=""; \
	command -v etcd >/dev/null || missing="$$missing etcd-server"; \
	command -v etcdctl >/dev/null || missing="$$missing etcd-client"; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	command -v java >/dev/null || missing="$$missing default-jre-headless"; \
	command -v mvn >/dev/null || missing="$$missing maven"; \
	command -v promtool >/dev/null || missing="$$missing prometheus"; \
	command -v cmake >/dev/null || missing="$$missing cmake"; \
	command -v g++ >/dev/null || missing="$$missing g++"; \
	command -v grpc_cpp_plugin >/dev/null || missing="$$missing libgrpc++-dev protobuf-compiler-grpc"; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	if [ -z "$$missing" ]; then echo "all that tests use is installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing \
			|| echo "could not be installed:$$missing; their tests are skipped"; \
	else echo "not installed:$$missing; their tests are skipped"; fi

# The web pages are built into the package, which serves them. Everything else works without.
PAGES      := src/inferflow/ui/dist/index.html
PAGES_FROM := $(shell find ui -name node_modules -prune -o -type f -not -path 'ui/e2e/*' -print)

ui:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(PAGES); \
	else echo "the web pages are not built: install Node 20.19 or newer, then make ui"; fi

ui/node_modules/.package-lock.json: ui/package-lock.json
	@echo "building the web pages, which takes half a minute"
	@cd ui && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

$(PAGES): $(PAGES_FROM) ui/node_modules/.package-lock.json
	@cd ui && built=$$(npm run --silent build 2>&1) || { echo "$$built"; exit 1; }; echo "$$built" | tail -n 1

demo: $(VENV)/.run ui
	@$(BIN)/inferflow demo

# Tests of one file share the servers they start, so a file stays with one worker.
test: $(VENV)/.dev
	-@$(MAKE) --no-print-directory services ui
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# With every test elsewhere that shows what docs/operate/robustness.md promises.
robustness: $(VENV)/.dev
	$(BIN)/python -m pytest -m "robustness or scenario" tests/robustness $$(grep -rlE --include='test_*.py' 'mark\.scenario\(|StartScenario' tests)

SOAK_SECONDS ?= 600
soak: $(VENV)/.dev
	SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/python -m pytest -m robustness tests/robustness/test_soak.py

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m tests.secret_scan

# Asks the advisory databases that pip-audit and npm use, so it needs the network. It fails when they
# cannot be asked: what was not looked up is not known to be good.
audit: $(VENV)/.dev
	$(BIN)/python -m tests.dependency_audit

# The documentation as a site, on a port of this machine, rebuilt when a page changes.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/engine.py

bench-serving: $(VENV)/.dev
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/serving.py --reloads 200

# Installs the servers it compares with, in environments of their own under .cache.
bench-worker: $(VENV)/.dev
	$(BIN)/python benchmarks/worker.py

bench-gateway: $(VENV)/.dev
	$(BIN)/python benchmarks/gateway.py

bench-distributed: $(VENV)/.dev
	$(BIN)/python benchmarks/distributed.py

# What was learnt stays in .fuzz, and the next run goes on from there.
SECONDS ?= 300
fuzz: $(VENV)/.dev
	$(INSTALL) --require-hashes -r requirements/fuzz.txt
	@mkdir -p .fuzz/corpus
	$(BIN)/python -m tests.fuzz.fuzz_calls -max_total_time=$(SECONDS) -artifact_prefix=.fuzz/ .fuzz/corpus

# The message classes are built from this one file when they are first used.
proto: $(VENV)/.dev
	$(BIN)/python -m grpc_tools.protoc -Iproto --descriptor_set_out=src/inferflow/_proto/wire.binpb $$(cd proto && find * -name '*.proto' | sort)

# Rewrites the pinned requirement files. Needs uv.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q pyproject.toml -o requirements/base.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q pyproject.toml --all-extras --group dev -o requirements/dev.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q pyproject.toml --all-extras -c requirements/dev.txt -o requirements/all.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q pyproject.toml --all-extras --group train -o requirements/train.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
