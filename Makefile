.DEFAULT_GOAL := run
.PHONY: run demo test bench fuzz fmt web agents llama apt fetchers chromium
# The real agents that tests drive, at the versions of the lockfile, laid down once per lockfile for all checkouts.
AGENTS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/longshore/agents-$(shell cksum < tests/agents/package-lock.json | tr ' ' -)

# A real llama.cpp server and a model for it, laid down once for what describes them.
LLAMA := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/longshore/llama-$(shell cat tests/llama/requirements.txt tests/llama/model.py | cksum | tr ' ' -)

# The web app becomes part of the program; without Node the program is built without it, and says so.
WEB := $(if $(and $(wildcard web/package.json),$(shell command -v npm)),web/dist/index.html)

run: apt web ## build everything and start the hub
	cargo run --release -p longshore -- up

demo: apt web ## build everything and show it
	cargo build --release -p longshore
	"$${CARGO_TARGET_DIR:-target}/release/longshore" demo $(DEMO)

test: apt fetchers chromium web ## every check and test
	node tests/run.mjs

bench: apt ## figures, beside a reference relay measured in the same run
	cargo build --release -p longshore -p longshore-bench
	"$${CARGO_TARGET_DIR:-target}/release/bench" $(BENCH)
	$(if $(BENCH),,"$${CARGO_TARGET_DIR:-target}/release/south")

web: $(WEB) ## the web app, compressed for the program to serve
	@$(if $(WEB),:,echo "npm is missing: the program is built without its web app")

web/dist/index.html: web/node_modules/.package-lock.json $(shell find web \( -name node_modules -o -name dist -o -name tests \) -prune -o -type f -print 2>/dev/null)
	npm run --prefix web build
	find web/dist -type f -not -name '*.gz' -not -name '*.png' -exec gzip -9nkf {} +
	touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --prefix web --no-audit --no-fund
	touch $@

fmt: $(if $(WEB),web/node_modules/.package-lock.json) ## the form of all sources
	cargo fmt
	$(if $(WEB),npm run --prefix web format)

agents: $(AGENTS)/installed ## the real agents of the tests
	rm -rf tests/agents/node_modules && ln -s $(AGENTS)/node_modules tests/agents/node_modules

# The name of the folder tells the lockfile: what is there is never laid down anew, under tests that run elsewhere.
$(AGENTS)/installed:
	mkdir -p $(AGENTS)
	cp tests/agents/package.json tests/agents/package-lock.json tests/agents/.npmrc $(AGENTS)
	npm ci --prefix $(AGENTS) --no-audit --no-fund
	touch $@

llama: $(LLAMA)/installed ## the llama.cpp server of the tests
	ln -sfn $(LLAMA) tests/llama/installed

$(LLAMA)/installed:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update && apt-get install -y python3-venv; } || \
		{ echo "The tests with llama.cpp need Python 3 with venv. Install it."; exit 1; }
	python3 -m venv $(LLAMA)
	$(LLAMA)/bin/pip install --quiet --disable-pip-version-check --requirement tests/llama/requirements.txt
	$(LLAMA)/bin/python tests/llama/model.py $(LLAMA)/model.gguf docs/*.md
	touch $@

# What a fresh Debian may lack: a linker, compilers for C (SQLite) and C++ (the fuzzer), git.
apt:
	@for tool in cc c++ git; do \
		command -v $$tool >/dev/null || { apt-get update && apt-get install -y build-essential git; break; }; \
	done

# Programs that tests let run against the wall of the sandbox.
fetchers:
	@for tool in curl wget; do command -v $$tool >/dev/null || { apt-get update && apt-get install -y curl wget; break; }; done

# The browser of the browser tests; CHROMIUM names another one.
chromium:
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || { apt-get update && apt-get install -y chromium; } || \
		{ echo "The browser tests need Chromium. Install it, or say where it is: make test CHROMIUM=/path/to/it"; exit 1; }

# The translations against whatever a fuzzer makes of the recordings; instrumented, so built apart.
FUZZ_TARGETS := acp claude codex opencode records
# How many inputs each target is given: always the same ones. `make fuzz FUZZ=-max_total_time=600` looks for new ones.
FUZZ ?= -runs=3000 -seed=1
FUZZ_FLAGS := --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table)
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
fuzz:
	RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --manifest-path fuzz/Cargo.toml --target $(HOST) --target-dir target/fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p target/fuzz/corpus/$$target && target/fuzz/$(HOST)/debug/$$target $(FUZZ) -timeout=20 \
			-rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 -artifact_prefix=target/fuzz/ \
			target/fuzz/corpus/$$target crates/longshore-drivers/captures/$$target || exit 1; \
	done
