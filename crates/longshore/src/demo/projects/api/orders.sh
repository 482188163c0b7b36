# What the API does with orders.

# handle ID: takes in one order.
handle() {
    echo "order $1 taken in"
}

for id in 1 2 3; do
    handle "$id"
done
