# The Redis servers of scripts/stack, for sourcing. The services use `redis`; `replica` and `replica-2` follow it; redlock-1 to
# redlock-5 are independent. cluster.sh has the cluster's. Each has NAME.conf and a folder NAME in $RUN_DIR. After a failover the replica has the name `redis`
# in all of these.
# shellcheck shell=bash disable=SC2154 # the shape is set in shape.sh

ask_redis() { # ask_redis NAME COMMAND...: false: no answer, or an error
    local reply
    reply=$(REDISCLI_AUTH=$REDIS_PASSWORD timeout 5 redis-cli -h 127.0.0.1 -p "$(port_of "$1")" "${@:2}" 2>&1) &&
        [[ $reply != ERR* ]] && printf '%s\n' "$reply"
}

redis_data() { # redis_data NAME: the servers of a cluster remember each other's ports
    if [[ $1 == cluster-* ]]; then data_of "$1" 3; else echo "$RUN_DIR/$1"; fi
}

# always: each write is on disk before its reply, so a lock and its fencing counter survive a crash.
redis_conf() { # redis_conf NAME
    cat <<CONF
bind 127.0.0.1
port $(port_of "$1")
requirepass $REDIS_PASSWORD
dir "$(redis_data "$1")"
save ""
repl-diskless-sync-delay 0
CONF
    if [[ $redis_durability == none ]]; then echo 'appendonly no'; else
        printf 'appendonly yes\nappendfsync %s\n' "$redis_durability"
    fi
    [[ $1 != cluster-* ]] || cluster_conf "$1"
    [[ $1 != replica* ]] || printf 'replicaof 127.0.0.1 %s\nmasterauth %s\n' "$(port_of redis)" "$REDIS_PASSWORD"
}

start_redis() { # start_redis NAME
    mkdir -p "$(redis_data "$1")"
    redis_conf "$1" >"$RUN_DIR/$1.conf"
    start_with NO_SECRETS "$1" redis-server "$RUN_DIR/$1.conf"
}

is_redis_ready() { # is_redis_ready NAME
    [[ $(ask_redis "$1" ping) == PONG ]] || return 1
    case $1 in
    replica*) [[ $(ask_redis "$1" info replication) == *master_link_status:up* ]] ;;
    cluster-*) [[ $(ask_redis "$1" cluster info) == *cluster_state:ok* && $(ask_redis "$1" info replication) == *@(role:master|master_link_status:up)* ]] ;;
    esac
}

follow() {
    ask_redis replica replicaof 127.0.0.1 "$(port_of redis)" >/dev/null
}

# End the replication to the first replica; both continue with their data. Nothing listens on port 1.
cut_replica() {
    ask_redis replica replicaof 127.0.0.1 1 >/dev/null || fail "there is no replica: $(given RUN_DIR PORT_BASE)$SALE_STACK up --with replica"
}

# The primary dies, and the replica takes over its address. Data that it had not received is lost.
fail_over() {
    local file
    pid_of replica >/dev/null || fail "there is no replica: $(given RUN_DIR PORT_BASE)$SALE_STACK up --with replica"
    slay redis
    ask_redis replica replicaof no one >/dev/null || fail 'the replica does not become a primary'
    ask_redis replica config set port "$(port_of redis)" >/dev/null || fail "the replica does not take the primary's port"
    mv "$RUN_DIR/replica.pid" "$RUN_DIR/redis.pid"
    for file in '' .log; do # the processes keep their folders and files open
        mv "$RUN_DIR/redis$file" "$RUN_DIR/swap"
        mv "$RUN_DIR/replica$file" "$RUN_DIR/redis$file"
        mv "$RUN_DIR/swap" "$RUN_DIR/replica$file"
    done
}
