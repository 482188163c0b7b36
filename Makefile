.DEFAULT_GOAL := run
.PHONY: run test bench fmt web apt
# The real agents that tests drive, at the versions of the lockfile, laid down once per lockfile for all checkouts.
AGENTS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/longshore/agents-$(shell cksum < tests/agents/package-lock.json | tr ' ' -)

# The web app becomes part of the program; without Node the program is built without it, and says so.
WEB := $(if $(and $(wildcard web/package.json),$(shell command -v npm)),web/dist/index.html)

run: apt web ## build everything and start the hub
	cargo run --release -p longshore -- up

test: apt web $(AGENTS)/installed ## every check and test
	rm -rf tests/agents/node_modules && ln -s $(AGENTS)/node_modules tests/agents/node_modules
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo test --workspace

bench: apt ## figures, beside a reference relay measured in the same run
	cargo build --release -p longshore -p longshore-bench
	"$${CARGO_TARGET_DIR:-target}/release/bench" $(BENCH)

web: $(WEB) ## the web app, compressed for the program to serve

web/dist/index.html: web/node_modules/.package-lock.json $(shell find web -name node_modules -prune -o -name dist -prune -o -type f -print 2>/dev/null)
	npm run --prefix web build
	find web/dist -type f -not -name '*.gz' -not -name '*.png' -exec gzip -9nkf {} +
	touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --prefix web --no-audit --no-fund
	touch $@

fmt:
	cargo fmt

$(AGENTS)/installed: tests/agents/package-lock.json
	mkdir -p $(AGENTS)
	cp tests/agents/package.json tests/agents/package-lock.json tests/agents/.npmrc $(AGENTS)
	npm ci --prefix $(AGENTS) --no-audit --no-fund
	touch $@

# What a fresh Debian may lack: a linker and a C compiler (SQLite), git.
apt:
	@command -v cc git >/dev/null || (apt-get update && apt-get install -y build-essential git)
