# The servers of the stack, for sourcing. $RUN_DIR/shape has the options of `up`, so that a server that is started later gets
# the same ones.
# shellcheck shell=bash disable=SC2034 # the variables are read there

replica_names=(replica replica-2) # the first takes over

# The shape without options.
shape_default() {
    only_servers='' instances=2 replicas=0 redlocks=0 clusters=0 zookeepers=0 etcds=0 pgbouncers=0
    redis_durability=${REDIS_DURABILITY:-always} lock_dirs=${LOCK_DIRS:-shared}
    kept_ORDER_SVC_FLAGS=${ORDER_SVC_FLAGS:-} kept_INVENTORY_SVC_FLAGS=${INVENTORY_SVC_FLAGS:-}
    kept_INVENTORY_SVC_EXERCISE=${INVENTORY_SVC_EXERCISE:+$(realpath -m "$INVENTORY_SVC_EXERCISE")}
}

# The shape of the last `up`, except flags in the environment.
shape_load() {
    shape_default
    # shellcheck source=/dev/null
    [[ ! -e $RUN_DIR/shape ]] || source "$RUN_DIR/shape"
    kept_ORDER_SVC_FLAGS=${ORDER_SVC_FLAGS-$kept_ORDER_SVC_FLAGS}
    kept_INVENTORY_SVC_FLAGS=${INVENTORY_SVC_FLAGS-$kept_INVENTORY_SVC_FLAGS}
}

shape_save() {
    local name
    for name in only_servers instances replicas redlocks clusters zookeepers etcds pgbouncers redis_durability lock_dirs \
        kept_ORDER_SVC_FLAGS kept_INVENTORY_SVC_FLAGS kept_INVENTORY_SVC_EXERCISE; do
        printf '%s=%q\n' "$name" "${!name}"
    done >"$RUN_DIR/shape"
}

shape_names() {
    local i
    servers=(postgres redis)
    for ((i = 1; i <= replicas; i++)); do servers+=("${replica_names[i - 1]}"); done
    for ((i = 1; i <= redlocks; i++)); do servers+=("redlock-$i"); done
    ((clusters == 0)) || servers+=("${cluster_names[@]}")
    for ((i = 1; i <= zookeepers; i++)); do servers+=("zookeeper-$i"); done
    for ((i = 1; i <= etcds; i++)); do servers+=("etcd-$i"); done
    ((pgbouncers == 0)) || servers+=(pgbouncer)
    services=()
    [[ -z $only_servers ]] || return 0
    for ((i = 1; i <= instances; i++)); do services+=("inventory-$i"); done
    services+=(order-svc)
}

shape_with() { # shape_with SERVERS: a list with commas
    local server list
    IFS=, read -ra list <<<"$1"
    ((${#list[@]})) || usage "--with needs the name of a server"
    for server in "${list[@]}"; do
        case $server in
        replica | replica=1) replicas=1 ;;
        replica=2) replicas=2 ;;
        redlock) redlocks=5 ;;
        cluster | cluster=3) clusters=1 ;;
        zookeeper | zookeeper=1) zookeepers=1 ;;
        zookeeper=3) zookeepers=3 ;;
        etcd | etcd=1) etcds=1 ;;
        etcd=3) etcds=3 ;;
        pgbouncer) pgbouncers=1 ;;
        *) usage "--with has no server ${server@Q}" ;;
        esac
    done
}

# shape_read [servers] [--with SERVERS]... [--instances N]: the arguments of `up`
shape_read() {
    shape_default
    if [[ ${1:-} == servers ]]; then only_servers=1; shift; fi
    while (($#)); do
        case $1:${2:-} in
        --with:*) shape_with "${2:-}" ;;
        --instances:[1-9]) instances=$2 ;;
        --instances:*) usage "--instances is 1 to 9" ;;
        *) usage "up has no argument ${1@Q}" ;;
        esac
        shift 2
    done
    case $redis_durability in
    always | everysec | none) ;;
    *) fail "REDIS_DURABILITY=${redis_durability@Q} is not always, everysec or none" ;;
    esac
    [[ $lock_dirs == shared || $lock_dirs == own ]] || fail "LOCK_DIRS=${lock_dirs@Q} is not shared or own"
}

names_running() {
    local name
    for name in postgres redis{,-behind} "${replica_names[@]}" redlock-{1..5}{,-behind} cluster-{1..6} zookeeper-{1..3} etcd-{1..3} pgbouncer inventory-{1..9} \
        order-svc; do
        [[ ! -e $RUN_DIR/$name.pid ]] || ! pid_of "$name" >/dev/null || echo "$name"
    done
}
