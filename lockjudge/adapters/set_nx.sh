#!/bin/sh
# A lock by SET NX PX and a blind DEL: wrong on purpose. Its holder never learns that the TTL has ended, and frees any lock.
cli() { redis-cli -u "$url" --no-auth-warning "$@" 2>&1 | head -n 1; }
url=$(echo "$1" | sed 's|://:|://default:|') # redis-cli 7.0 takes an empty user for a name
serve() {
    echo 'ready caps=ttl,fork'
    while read -r verb name ttl wait; do
        case $verb in
        fork) serve <&3 >&4 & echo "forked $!" ;;
        acquire)
            while lock=$name && said=$(cli SET "$name" $$ NX PX "$ttl") && [ -z "$said" ] && [ "$wait" -gt 0 ]; do sleep 0.05 && wait=$((wait - 50)); done
            case $said in OK) echo 'held -' ;; '') echo busy ;; *) echo "error $said" ;; esac
            ;;
        check) echo held ;;
        release) said=$(cli DEL "$lock") && case $said in [01]) echo released ;; *) echo "error $said" ;; esac ;;
        esac
    done
}
serve
