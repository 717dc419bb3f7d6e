# The commands of this project; `make` alone lists them. They need Python 3.11+ and nothing else installed.

SHELL := /bin/bash
PYTHON_IN_VENV := .venv/bin/python
ARGS ?=
JOBS ?= 3

.DEFAULT_GOAL := help
.PHONY: help run test soak servers bench bench-compare check format messages lock screenshots set-up set-up-dev

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: set-up ## set everything up, serve the site, print a sign-in link
	@exec $(PYTHON_IN_VENV) manage.py serve

test: set-up-dev ## run every test, three files at a time; ARGS="-k panel" chooses some, JOBS=0 runs one after the other
	@scripts/system-packages
	@$(PYTHON_IN_VENV) -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

soak: set-up-dev ## the fault tests at full length, about an hour; SEED=1 repeats a run, ARGS="-k kills" chooses some
	@scripts/system-packages
	@SOAK=1 $(PYTHON_IN_VENV) -m pytest tests/faults tests/agent/tools/test_workspace.py \
		--numprocesses $(JOBS) --dist load --maxschedchunk 1 -rP --durations=0 $(ARGS)

servers: set-up-dev ## run the agent against third-party servers; ARGS="litellm" chooses some, each prints what it needs
	@$(PYTHON_IN_VENV) -m tests.servers $(ARGS)

bench: set-up-dev ## measure conversations, search, the sandbox and other parts; ARGS="--only para --short" chooses
	@scripts/system-packages
	@$(PYTHON_IN_VENV) -m bench.live $(ARGS)

bench-compare: set-up-dev ## compare two runs: make bench-compare OLD.json [NEW.json]
	@$(PYTHON_IN_VENV) -m bench.compare $(filter %.json,$(MAKECMDGOALS))

ifneq ($(filter bench-compare,$(MAKECMDGOALS)),)
.PHONY: $(filter %.json,$(MAKECMDGOALS))
$(filter %.json,$(MAKECMDGOALS)): ; @:
endif

check: set-up-dev ## linter, formatter, types, deployment, migrations, translations
	@scripts/system-packages gettext
	@scripts/check

format: set-up-dev ## format the code and apply the fixes of the linter
	@$(PYTHON_IN_VENV) -m ruff check --fix-only --quiet .
	@$(PYTHON_IN_VENV) -m ruff format .

messages: set-up-dev ## update the Chinese catalogue
	@scripts/system-packages gettext
	@scripts/messages update

screenshots: set-up-dev ## redraw the screenshots of README and docs
	@scripts/system-packages chromium-headless-shell fonts-noto-cjk
	@$(PYTHON_IN_VENV) -m tests.screenshots

lock: ## choose the newest versions that requirements allow: constraints.txt
	@scripts/lock

set-up:
	@scripts/set-up .venv requirements.txt

set-up-dev:
	@scripts/set-up .venv requirements-dev.txt
