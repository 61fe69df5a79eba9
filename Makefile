# `make demo` and `make test` are all a fresh machine needs; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Why PYTHON cannot be used, in one line; empty if it can.
python_problem = $(shell \
	"$(PYTHON)" -c '' 2>/dev/null \
		|| { echo "$(PYTHON) does not run: install Python 3.11 or newer, or name it: make $(MAKECMDGOALS) PYTHON=python3.12"; exit; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11: name a newer one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit; }; \
	"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null \
		|| echo "$(PYTHON) lacks its venv module: install it (on Debian and Ubuntu: apt-get install python3-venv)")

# Figures are taken with the distribution's Python where there is a usable one: the daemon runs on such a build, and one without
# profile-guided optimisation, as pyenv makes it by default, is a quarter slower (docs/benchmarks.md).
BENCH_PYTHON ?= $(shell /usr/bin/python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo /usr/bin/python3 || echo "$(PYTHON)")
BENCH_VENV := .venv-bench

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo fleet fleet-scale screenshots test lint bench detection recorder-kills audit node-days node-days-report assets clean

help: ## print these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 26

demo: $(VENV)/installed ## start the exporter on a simulated HGX H100 node (Ctrl-C stops it)
	$(BIN)/fabric-exporter run --simulate hgx-h100 --sources.bursts.enabled

fleet: $(VENV)/installed ## serve a simulated fleet for a Prometheus (NODES=16, TIER=standard, TARGETS=fleet-targets.json)
	$(BIN)/python -m exporter.cli.fleet --nodes "$(or $(NODES),16)" --tier "$(or $(TIER),standard)" \
		--targets "$(or $(TARGETS),fleet-targets.json)"

fleet-scale: $(VENV)/installed-dev ## scrape 1,000 simulated nodes with a real Prometheus (NODES=1000, MINUTES=30)
	$(BIN)/python -m tests.fleet.scale --nodes "$(or $(NODES),1000)" --minutes "$(or $(MINUTES),30)"

screenshots: $(VENV)/installed-report ## draw each board from a real Prometheus on a simulated fleet (MINUTES=10, DIR=screenshots)
	$(BIN)/python -m tests.screenshots --minutes "$(or $(MINUTES),10)" --dir "$(or $(DIR),screenshots)"

test: $(VENV)/installed-dev ## run the whole test suite
	$(BIN)/python -m pytest

lint: $(VENV)/installed-dev ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(BENCH_VENV)/installed-dev ## measure the cost, side by side with node_exporter where it is installed
	$(BENCH_VENV)/bin/python -m tests.benchmarks

detection: $(VENV)/installed-dev ## play the labelled scenarios: what is found, how soon (WITHOUT=RULE, SEED=N)
	$(BIN)/python -m tests.detection $(if $(WITHOUT),--without "$(WITHOUT)") $(if $(SEED),--seed "$(SEED)")

node-days: $(VENV)/installed-dev ## play healthy node-days, on which nothing may be raised (DAYS=100, FIRST=1, JOBS=CPUs)
	$(BIN)/python -m tests.node_days --days "$(or $(DAYS),100)" --first "$(or $(FIRST),1)" $(if $(JOBS),--jobs "$(JOBS)")

node-days-report: $(VENV)/installed-dev ## compare the versions of the code that have played node-days
	$(BIN)/python -m tests.node_days --report

audit: $(VENV)/installed-dev-full ## look up every package that ships in the database of known vulnerabilities
	$(BIN)/python -m tests.dependency_audit

recorder-kills: $(VENV)/installed-dev ## kill the flight recorder 200 times in mid-write: the file must open and miss nothing
	$(BIN)/python -m tests.recorder.kills "$$(mktemp -d)"

# Written aside and moved, so that a command that fails leaves the page as it was. Golden pages: python -m tests.golden --update.
assets: $(VENV)/installed-dev ## regenerate the references and runbooks in docs/ and the boards and rules in dashboards/generated/ and the chart
	$(BIN)/fabric-exporter metrics --markdown > docs/metrics.md.new
	mv docs/metrics.md.new docs/metrics.md
	$(BIN)/python -c 'from exporter.config.reference import reference_markdown as r; print(r(), end="")' > docs/configuration.md.new
	mv docs/configuration.md.new docs/configuration.md
	$(BIN)/python -m dashboards.shipped
	$(BIN)/python -m dashboards.rules
	$(BIN)/python -m helm.assets

clean: ## remove the virtual environment, caches and built packages
	rm -rf $(VENV) $(BENCH_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps, so that a second run starts at once and a changed pyproject.toml installs again. Editable: sources need no new install.
$(VENV)/made:
	$(if $(python_problem),$(error $(python_problem)))
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/made pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch $(VENV)/installed $@

$(VENV)/installed-report: $(VENV)/made pyproject.toml
	$(PIP) --editable '.[dev,report]'
	@touch $(VENV)/installed $(VENV)/installed-dev $@

$(BENCH_VENV)/installed-dev: pyproject.toml
	"$(BENCH_PYTHON)" -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/installed-dev-full: $(VENV)/made pyproject.toml
	$(PIP) --editable '.[dev-full]'
	@touch $(VENV)/installed $(VENV)/installed-dev $@
