# What the stack of scripts/stack consists of, for sourcing: what `up` was asked for stands in $RUN_DIR/shape, so that a
# server that is started later is as the others are.
# shellcheck shell=bash disable=SC2034 # what is set here is read there

# As it is without options.
shape_default() {
    only_servers='' instances=2 has_replica='' redis_durability=${REDIS_DURABILITY:-always} lock_dirs=${LOCK_DIRS:-shared}
    kept_ORDER_SVC_FLAGS=${ORDER_SVC_FLAGS:-} kept_INVENTORY_SVC_FLAGS=${INVENTORY_SVC_FLAGS:-}
}

# As the last `up` left it, but for flags in the environment.
shape_load() {
    shape_default
    # shellcheck source=/dev/null
    [[ ! -e $RUN_DIR/shape ]] || source "$RUN_DIR/shape"
    kept_ORDER_SVC_FLAGS=${ORDER_SVC_FLAGS-$kept_ORDER_SVC_FLAGS}
    kept_INVENTORY_SVC_FLAGS=${INVENTORY_SVC_FLAGS-$kept_INVENTORY_SVC_FLAGS}
}

shape_save() {
    local name
    for name in only_servers instances has_replica redis_durability lock_dirs kept_ORDER_SVC_FLAGS kept_INVENTORY_SVC_FLAGS; do
        printf '%s=%q\n' "$name" "${!name}"
    done >"$RUN_DIR/shape"
}

shape_names() {
    local i
    servers=(postgres redis ${has_replica:+replica})
    services=()
    [[ -z $only_servers ]] || return 0
    for ((i = 1; i <= instances; i++)); do services+=("inventory-$i"); done
    services+=(order-svc)
}

# shape_read [servers] [--with replica] [--instances N]: what `up` is asked for
shape_read() {
    shape_default
    if [[ ${1:-} == servers ]]; then only_servers=1; shift; fi
    while (($#)); do
        case $1:${2:-} in
        --with:replica) has_replica=1 ;;
        --instances:[1-9]) instances=$2 ;;
        *) usage ;;
        esac
        shift 2
    done
    case $redis_durability in
    always | everysec | none) ;;
    *) fail "REDIS_DURABILITY=$redis_durability is not always, everysec or none" ;;
    esac
    [[ $lock_dirs == shared || $lock_dirs == own ]] || fail "LOCK_DIRS=$lock_dirs is not shared or own"
}

names_running() {
    local name
    for name in postgres redis replica inventory-{1..9} order-svc; do
        [[ ! -e $RUN_DIR/$name.pid ]] || ! pid_of "$name" >/dev/null || echo "$name"
    done
}
