# The ZooKeeper and etcd servers of scripts/stack, for sourcing: zookeeper-1, etcd-1, ..., alone or as an ensemble of three.
# Both store their peers with their data, so each size and each set of ports has its own folder.
# shellcheck shell=bash disable=SC2154 # the shape is set in shape.sh

peer_port() { # peer_port NAME [ELECTION]: the port for its peers
    echo $(($(port_of "$1") + 3 + ${2:-0}))
}

data_of() { # data_of NAME SIZE
    echo "$RUN_DIR/$1/$(port_of "$1")-of-$2"
}

# Sessions may be as short as 400 ms: that is two ticks.
zookeeper_conf() { # zookeeper_conf NAME
    local i
    cat <<CONF
dataDir=$(data_of "$1" "$zookeepers")
clientPort=$(port_of "$1")
clientPortAddress=127.0.0.1
tickTime=200
maxSessionTimeout=60000
initLimit=50
syncLimit=25
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
CONF
    ((zookeepers > 1)) || return 0
    for ((i = 1; i <= zookeepers; i++)); do
        echo "server.$i=127.0.0.1:$(peer_port "zookeeper-$i"):$(peer_port "zookeeper-$i" 3)"
    done
}

start_zookeeper() { # start_zookeeper NAME
    mkdir -p "$(data_of "$1" "$zookeepers")"
    echo "${1#zookeeper-}" >"$(data_of "$1" "$zookeepers")/myid"
    zookeeper_conf "$1" >"$RUN_DIR/$1.conf"
    start_with NO_SECRETS "$1" java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dzookeeper.jmx.log4j.disable=true \
        -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$RUN_DIR/$1.conf"
}

# It answers even without a quorum, and says so; then it is not ready.
is_zookeeper_ready() { # is_zookeeper_ready NAME
    # shellcheck disable=SC2016 # $1 is that shell's
    [[ $(timeout 2 bash -pc 'exec 3<>"/dev/tcp/127.0.0.1/$1"; echo srvr >&3; cat <&3' bash "$(port_of "$1")" 2>&1) == *Mode:* ]]
}

etcd_url() {
    echo "http://127.0.0.1:$1"
}

start_etcd() { # start_etcd NAME
    local i cluster client peer
    client=$(etcd_url "$(port_of "$1")") peer=$(etcd_url "$(peer_port "$1")")
    for ((i = 1; i <= etcds; i++)); do cluster+=,etcd-$i=$(etcd_url "$(peer_port "etcd-$i")"); done
    mkdir -p "$RUN_DIR/$1"
    start_with NO_SECRETS "$1" etcd --name "$1" --data-dir "$(data_of "$1" "$etcds")" \
        --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
        --initial-cluster "${cluster#,}" --initial-cluster-token "$RUN_DIR" \
        --logger zap --log-outputs stderr --log-level warn
}

is_etcd_ready() { # is_etcd_ready NAME
    [[ $(curl -qfs -m 2 "$(etcd_url "$(port_of "$1")")/health") == *'"health":"true"'* ]]
}

is_ensemble_current() { # is_ensemble_current NAME PID: its ensemble has the size that is wanted now
    local running
    case $1 in
    zookeeper-*) cmp -s "$RUN_DIR/$1.conf" <(zookeeper_conf "$1") ;;
    *)
        mapfile -d '' running <"/proc/$2/cmdline"
        [[ " ${running[*]} " == *" $(data_of "$1" "$etcds") "* ]]
        ;;
    esac
}
