#!/bin/sh
# What total says, beside what it should say.
. ./cart.sh

failed=0
check() {
    if [ "$2" = "$3" ]; then
        printf '\033[32mok\033[0m    %s\n' "$1"
    else
        printf '\033[31mFAIL\033[0m  %s: %s instead of %s\n' "$1" "$3" "$2"
        failed=1
    fi
}

check 'an empty cart costs nothing' 0 "$(total 0)"
check 'prices add up' 3000 "$(total 0 1000 2000)"
check 'a voucher is taken off' 2500 "$(total 500 1000 2000)"

exit "$failed"
