#!/usr/bin/env bash
# Every Rust test. Many of them drive real programs, and the suite of the whole program real agents, which are other
# people's: up to five tests that fail are tried once more, one at a time. A test that fails twice fails the run; what passed
# only at the second go is named at the end, to be looked into.
set -euo pipefail
# Properties are tried with the same cases every time, as the fuzzers are; another seed looks for new ones.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}
# Agents wait more than they work.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
heard=$(mktemp)
trap 'rm -f "$heard"' EXIT

cargo test --workspace --no-fail-fast 2>&1 | tee "$heard" && exit

# Lines of "PROGRAM TEST", from the list at the end of what each program said.
mapfile -t failed < <(awk '
	/^ +Running .*\(.*\)$/ { program = $NF; gsub(/[()]/, "", program); listing = 0 }
	/^failures:$/ { listing = 1 }
	/^test result/ { listing = 0 }
	listing && /^    [a-z0-9_]+(::[a-z0-9_]+)*$/ { print program, $1 }' "$heard" | sort -u)
# A program that ended in another way lists nothing, and neither does one that was not built.
programs=$(printf '%s\n' "${failed[@]% *}" | sort -u | grep -c . || true)
if ((${#failed[@]} < 1 || ${#failed[@]} > 5)) || [[ $programs != $(grep -c '^    `-p .*`$' "$heard") ]]; then
	exit 1
fi
printf '\nTried once more, by itself: %s\n' "${failed[@]#* }"
for one in "${failed[@]}"; do
	program=$(realpath "${one% *}")
	# The programs that were built above: `-p` would build them anew, with other features. Each runs in its package.
	package=$(cargo test --workspace --no-run --message-format=json 2>/dev/null |
		sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"executable":"'"$program"'".*|\1|p')
	(cd "${package:?}" && "$program" --exact --test-threads=1 "${one#* }")
done
printf 'UNSTEADY, passed only at the second go: %s\n' "${failed[@]#* }"
