#!/bin/sh
# report.sh PRICE...: what a day brought in, before vouchers.
. ./cart.sh

echo "Sold: $(total 0 "$@")"
