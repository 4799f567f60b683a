# The Redis Cluster of scripts/stack, for sourcing: cluster-1 to cluster-3 have a third of the slots each, and cluster-4 to
# cluster-6 follow them, in this order. A failover changes the roles; `start` and `up` restore them.
# shellcheck shell=bash disable=SC2154 # the shape is set in shape.sh

cluster_masters=(cluster-{1..3}) cluster_names=(cluster-{1..6})
slots=16384

# More lines for redis_conf(). The roles are not there: the servers keep them in nodes.conf, beside their data.
cluster_conf() { # cluster_conf NAME
    cat <<CONF
masterauth $REDIS_PASSWORD
cluster-enabled yes
cluster-port $(($(port_of "$1") + 10))
cluster-node-timeout 2000
CONF
}

id_of() { # id_of NAME
    ask_redis "$1" cluster myid
}

is_master() { # is_master NAME
    [[ $(ask_redis "$1" role) == master* ]]
}

is_replica() { # is_replica NAME MASTER [STATE]
    [[ $(ask_redis "$1" role) == slave*$'\n'"$(port_of "$2")"$'\n'"${3:-}"* ]]
}

tell_cluster() { # tell_cluster NAME COMMAND...: a command that cannot fail
    ask_redis "$@" >/dev/null || fail "$1 refuses ${*:2:3}: see $RUN_DIR/$1.log"
}

# Whether it follows this master, has its data, and the master knows that. A server cannot follow before it has met the master,
# nor while it has slots.
is_following() { # is_following NAME MASTER
    is_replica "$@" || { ask_redis "$1" cluster replicate "$(id_of "$2")" >/dev/null && return 1; }
    is_replica "$@" connected && [[ $(ask_redis "$2" cluster replicas "$(id_of "$2")") == *"$(id_of "$1")"* ]]
}

follow_master() { # follow_master NAME MASTER
    wait_until "$patience" is_following "$@" || fail "$1 does not follow $2: see $RUN_DIR/$1.log"
}

# The first time, the servers meet and get slots and roles. `start` mends a cut, too.
form_cluster() {
    local name i=0 formed
    formed=$(data_of cluster-1 3)/is-formed
    for name in "${cluster_names[@]}"; do
        wait_until "$patience" ask_redis "$name" config set masteruser '' >/dev/null ||
            fail "$name does not answer: see $RUN_DIR/$name.log"
        [[ -e $formed ]] || tell_cluster "$name" cluster reset hard # an `up` that was interrupted left a part
    done
    [[ ! -e $formed ]] || return 0
    for name in "${cluster_names[@]:1}"; do
        tell_cluster cluster-1 cluster meet 127.0.0.1 "$(port_of "$name")" $(($(port_of "$name") + 10))
    done
    for name in "${cluster_masters[@]}"; do
        tell_cluster "$name" cluster addslotsrange $((i * slots / 3)) $((++i * slots / 3 - 1))
        follow_master "cluster-$((i + 3))" "$name"
    done
    : >"$formed"
}

other_masters() { # other_masters NAME
    local name
    for name in "${cluster_names[@]}"; do [[ $name == "$1" ]] || ! is_master "$name" || echo "$name"; done
}

# The first three get their slots back after a failover, without a loss, and then their followers.
restore_masters() {
    local i name master
    for i in 1 2 3; do
        name=cluster-$i
        is_master $name && continue
        master=$(other_masters $name | sed -n '/[456]/{p;q}')
        follow_master $name "$master"
        tell_cluster $name cluster failover
        wait_until "$patience" is_master $name || fail "$name does not take its slots back from $master: see $RUN_DIR/$name.log"
    done
    for i in 1 2 3; do follow_master cluster-$((i + 3)) cluster-$i; done
    await "${cluster_names[@]}"
}

need_master() { # need_master NAME
    [[ $1 == cluster-* ]] || fail "$command is for a server of the Redis Cluster, such as cluster-1"
    pid_of "$1" >/dev/null || fail "$1 does not run: $(given RUN_DIR PORT_BASE)$SALE_STACK up --with cluster"
    is_master "$1" || fail "$1 has no slots: it follows another server, which has them"
}

# Its replicas get no more updates, but vote and may take over. They have no user of this name on the master.
cut_cluster() { # cut_cluster NAME
    local name
    need_master "$1"
    for name in "${cluster_names[@]}"; do ! is_replica "$name" "$1" || tell_cluster "$name" config set masteruser cut; done
    tell_cluster "$1" client kill type replica
}

slots_of() { # slots_of ID NAME: as this server knows them
    ask_redis "$2" cluster nodes | sed -n "/^$1 /{s/.* connected//;s/ \[.*//;p}"
}

# Whether all that answer know the same slots of a server. A replica that does not would not take them over.
is_agreed() { # is_agreed ID
    local name
    for name in "${cluster_names[@]}"; do ! pid_of "$name" >/dev/null || slots_of "$1" "$name"; done | sort -u | awk 'END {exit NR != 1}'
}

# The slots of a server that have keys.
slots_in_use() { # slots_in_use NAME
    local range
    for range in $(slots_of "$(id_of "$1")" "$1"); do seq "${range%-*}" "${range#*-}"; done >"$RUN_DIR/$1.slots"
    sed 's/^/cluster countkeysinslot /' "$RUN_DIR/$1.slots" | ask_redis "$1" | paste - "$RUN_DIR/$1.slots" |
        sed -n '/^0\t/d; s/.*\t//p'
}

set_slots() { # set_slots NAME STATE ID SLOT...
    local replies
    replies=$(printf "cluster setslot %s $2 $3\n" "${@:4}" | ask_redis "$1" | sort -u)
    [[ $replies == OK ]] || fail "$1 refuses slots as $2: $replies"
}

# The password is no argument of a program: all users would see it.
move_keys() { # move_keys FROM TO SLOT...
    local commands replies
    while :; do
        commands=$(printf 'cluster getkeysinslot %s 500\n' "${@:3}" | ask_redis "$1" --no-raw | awk -v to="127.0.0.1 $(port_of "$2")" '
            function put() { if (keys) print "migrate " to " \"\" 0 5000 auth " ENVIRON["REDIS_PASSWORD"] " keys" keys; keys = "" }
            /^ *1\) / || !/^ *[0-9]+\) "/ { put() }
            sub(/^ *[0-9]+\) "/, "\"") { keys = keys " " $0 } # quoted, as redis-cli reads it
            END { put() }') || fail "$1 does not say which keys it has"
        [[ -n $commands ]] || return 0
        replies=$(ask_redis "$1" <<<"$commands" | grep -vx 'OK\|NOKEY' | sort -u) || continue
        fail "$1 does not move keys to $2: $replies"
    done
}

# Move the slots with keys to the first other master, while clients go on. Meanwhile both servers have a part of the keys.
reshard() { # reshard NAME
    local to from_id to_id name others in_use
    need_master "$1"
    mapfile -t in_use < <(slots_in_use "$1")
    mapfile -t others < <(other_masters "$1")
    ((${#others[@]})) || fail "there is no other master"
    to=${others[0]} from_id=$(id_of "$1") to_id=$(id_of "$to")
    if ((${#in_use[@]})); then
        set_slots "$to" importing "$from_id" "${in_use[@]}"
        set_slots "$1" migrating "$to_id" "${in_use[@]}"
        move_keys "$1" "$to" "${in_use[@]}"
        for name in "$to" "$1" "${others[@]:1}"; do set_slots "$name" node "$to_id" "${in_use[@]}"; done
        wait_until "$patience" is_agreed "$to_id" && wait_until "$patience" is_agreed "$from_id" ||
            fail "the servers do not agree about the slots of $1 and $to: see $RUN_DIR/$to.log"
    fi
    echo "stack: slots that moved from $1 to $to: ${in_use[*]:-none}"
}
