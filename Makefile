.DEFAULT_GOAL := run
.PHONY: run test fmt bench apt
CODEX := tests/agents/node_modules/.package-lock.json

run: apt ## build everything and start the hub
	cargo run --release -p longshore -- up

test: apt $(CODEX) ## every check and test
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo test --workspace

bench: apt ## figures, beside a reference relay measured in the same run
	cargo build --release -p longshore -p longshore-bench
	target/release/bench

fmt:
	cargo fmt

# The real agents that tests drive, at the versions of the lockfile.
$(CODEX): tests/agents/package-lock.json
	npm ci --prefix tests/agents --no-audit --no-fund
	touch $@

# What a fresh Debian may lack: a linker and a C compiler (SQLite), git.
apt:
	@command -v cc git >/dev/null || (apt-get update && apt-get install -y build-essential git)
