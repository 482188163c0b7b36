# What a cart costs. All amounts are in cents.

# total VOUCHER PRICE...: what the customer pays.
total() {
    voucher=$1
    shift
    sum=0
    for price in "$@"; do
        sum=$((sum + price))
    done
    echo $((sum + voucher))
}
