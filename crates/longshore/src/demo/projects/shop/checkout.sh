#!/bin/sh
# checkout.sh VOUCHER PRICE...: prints the bill.
. ./cart.sh

pay=$(total "$@")
printf 'To pay: %d.%02d\n' $((pay / 100)) $((pay % 100))
