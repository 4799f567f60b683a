#!/bin/bash -p
# swarm.sh: deploy swarm.yaml on two engines of its own, scale it, sell with parts on both, replace both services in mid-sale, lose a
# node in mid-sale.
# Needs root, dockerd, ip and nsenter, and the images of swarm.yaml in the engine of `docker` (make image). The last line: N passed,
# N failed.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 70
export IMAGE=inventory-sale
images=("$IMAGE:latest" "$IMAGE-etcd" postgres:15-bookworm redis:7-bookworm zookeeper:3.8)
ensembles=(etcd-{1,2,3}"=1" zookeeper-{1,2,3}"=1" cluster-{1,2,3,4,5,6}"=1")
here=$(mktemp -d)
passed=0 failed=0
declare -A dockerd=()

# ---- two nodes: a network namespace each, joined by a cable

on() { # on NODE ARGUMENT...: docker there
    docker -H "unix://$here/$1.sock" "${@:2}"
}

# Without a way out an engine learns at once that no registry has the images. `ip netns exec` would hide the cgroups.
start_nodes() {
    local node
    ip netns add "sale$$a" && ip netns add "sale$$b" || return
    ip link add to_b netns "sale$$a" type veth peer name to_a netns "sale$$b" || return
    ip -n "sale$$a" addr add 192.0.2.1/24 dev to_b && ip -n "sale$$b" addr add 192.0.2.2/24 dev to_a || return
    ip -n "sale$$a" link set to_b up && ip -n "sale$$b" link set to_a up || return
    echo '{}' >"$here/daemon.json"
    for node in a b; do
        ip -n "sale$$$node" link set lo up || return
        nsenter --net="/run/netns/sale$$$node" dockerd --config-file "$here/daemon.json" --data-root "$here/$node.data" \
            --exec-root "$here/$node.run" --pidfile "$here/$node.pid" -H "unix://$here/$node.sock" >"$here/$node.log" 2>&1 &
        dockerd[$node]=$!
    done
    for node in a b; do within 60 on "$node" info || return; done
    docker save "${images[@]}" | tee >(on b load) | on a load
} >/dev/null 2>&1 </dev/null

stop_nodes() {
    local node
    for node in "${!dockerd[@]}"; do
        on "$node" ps -aq | xargs -r docker -H "unix://$here/$node.sock" rm -f
        kill "${dockerd[$node]}"
        wait "${dockerd[$node]}"
    done
    awk -v here="$here/" 'index($2, here) == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount
    ip netns del "sale$$a"
    ip netns del "sale$$b"
    rm -rf "$here"
} >/dev/null 2>&1

cut_cable() {
    ip -n "sale$$a" link set to_b down
}

# ---- checks

within() { # within SECONDS COMMAND...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) && sleep 1 || return 1
    done
}

check() { # check SENTENCE COMMAND...
    local sentence=$1
    shift
    if "$@" >"$here/check" 2>&1 </dev/null; then
        passed=$((passed + 1))
        printf '  ok      %s\n' "$sentence"
    else
        failed=$((failed + 1))
        printf '  FAILED  %s\n' "$sentence"
        tail -n 60 "$here/check" | sed 's/^/    /'
        on a stack ps --no-trunc sale
    fi
}

runs() { # runs SERVICE=N...: N containers of each are healthy
    local service
    for service; do
        [[ $(on a service ls -f "name=sale_${service%=*}" --format '{{.Replicas}}') == "${service#*=}/${service#*=}" ]] || return
    done
}

live_on_a() { # live_on_a SERVICE=N...: the same on that node; the swarm still counts those of a lost node
    local service
    for service; do
        [[ $(on a ps -qf "name=sale_${service%=*}\." -f health=healthy | wc -l) == "${service#*=}" ]] || return
    done
}

deploy() {
    local name node
    on a swarm init --advertise-addr 192.0.2.1 || return
    on b swarm join --advertise-addr 192.0.2.2 --token "$(on a swarm join-token -q worker)" 192.0.2.1:2377 || return
    node=$(on a node ls -qf role=manager)
    for name in postgres redis member-1 member-2; do on a node update --label-add "sale.$name=yes" "$node" || return; done
    on a node update --label-add sale.member-3=yes "$(on a node ls -qf role=worker)" || return
    for name in postgres redis order_svc inventory_svc loadgen services; do
        openssl rand -hex 16 | tr -d '\n' | on a secret create "sale_$name" - || return
    done
    ssh-keygen -qt ed25519 -N '' -f "$here/key" && on a secret create sale_ssh "$here/key" || return
    on a stack deploy -c swarm.yaml sale
    # The sender stays on the node that is not lost.
    on a service update -q --constraint-add 'node.labels.sale.postgres == yes' sale_loadgen
}

# ---- sales

start_sale() { # start_sale OPTION...: of loadgen
    on a service update -q -d --force --replicas 1 --env-add "LOADGEN=$*" sale_loadgen &&
        task=$(on a service ps -q sale_loadgen | sed -n 1p)
}

said() {
    on a service logs "$task" 2>&1 | sed 's/^[^|]*| //'
}

sells() {
    said | grep -q ' sold [1-9]'
}

state_of_sale() {
    on a inspect -f '{{.Status.State}}' "$task"
}

has_ended() {
    [[ $(state_of_sale) =~ ^(complete|failed|rejected)$ ]]
}

ends_well() {
    within 180 has_ended
    said
    [[ $(state_of_sale) == complete ]] # with the exit code 0
}

sellers() { # sellers NUMBER: so many instances have sold
    local by
    by=$(on a exec "$(on a ps -qf name=sale_postgres)" psql -U postgres inventory -Atc \
        'SELECT count(DISTINCT instance) FROM reservation')
    echo "$by instances have sold"
    ((by == $1))
}

sale() { # sale STRATEGIES RATE WORK: with so much work and orders that many overlap
    start_sale --strategy "$1" --rate "$2" --duration 1s --stock $(($2 * 5 / 8)) --work "$3" --wait 8s && ends_well
}

ask_cluster() { # ask_cluster I ARGUMENT...: redis-cli in its server I, which is on that node
    # shellcheck disable=SC2016
    on a exec "$(on a ps -qf "name=sale_cluster-$1")" \
        sh -c 'REDISCLI_AUTH=$(cat /run/secrets/sale_redis) exec redis-cli "$@"' redis-cli "${@:2}"
}

agree() { # the members on that node, which are a majority
    local i
    for i in 1 2; do
        on a exec "$(on a ps -qf "name=sale_etcd-$i")" curl -fsS http://127.0.0.1:2379/health || return
        on a exec "$(on a ps -qf "name=sale_zookeeper-$i")" \
            bash -c 'exec 3<>/dev/tcp/127.0.0.1/2181; echo srvr >&3; grep -E "Mode: (leader|follower)" <&3' || return
        ask_cluster "$i" cluster info | grep cluster_state:ok || return
    done
}

sells_from_cluster() { # inventory-svc
    on a service scale -d sale_cluster=1 && within 60 agree && on a service update -q --env-add CLUSTER=yes sale_inventory
}

sale_of_parts() {
    [[ $(on a ps -qf name=sale_part | wc -l) == 1 && $(on b ps -qf name=sale_part | wc -l) == 1 ]] &&
        sale redis,etcd,zookeeper,prewarm 200 10ms && said | grep 'moments are known to' &&
        ask_cluster 1 --scan --pattern 'sale:*' | grep stock
}

rolls() { # rolls SERVICE: each of its containers is replaced, while a sale goes on
    on a service update -q --force "sale_$1" && [[ $(on a service inspect -f '{{.UpdateStatus.State}}' "sale_$1") == completed ]] &&
        ! has_ended
}

# An update may leave all on one node.
spreads() {
    on a service scale sale_order-svc=1 && on a service scale sale_order-svc=2 && within 60 live_on_a order-svc=1
}

begins() {
    start_sale --strategy redis --rate 100 --duration "$1" --stock "$2" --work 2ms --wait 8s --drain 60s && within 60 sells
}

refuse() {
    echo "swarm.sh: $*"
    echo '0 passed, 1 failed'
    rm -rf "$here"
    exit 1
}

((EUID == 0)) || refuse 'it starts engines in network namespaces, and that needs root'
for program in docker dockerd ip nsenter openssl ssh-keygen; do
    command -v "$program" >/dev/null ||
        refuse "install $program first: apt-get install docker.io iproute2 util-linux openssl openssh-client"
done
for image in "${images[@]}"; do
    docker image inspect "$image" >/dev/null ||
        refuse "load or pull $image first; COMPOSE_PROFILES=etcd make image builds those of the project"
done
trap 'trap "" INT TERM; stop_nodes' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

check 'two engines start in namespaces of their own' start_nodes
check 'it is deployed' deploy
check 'all its services become healthy' within 180 runs postgres=1 redis=1 order-svc=1 inventory=2
on a service scale -d sale_inventory=4 sale_order-svc=2 >/dev/null
check 'it scales to four instances' within 120 runs inventory=4 order-svc=2
sleep 3 # order-svc looks up their name every 2 s
check 'a sale ends, each verdict as expected' sale redis,sharded,atomic 800 2ms
check 'all four have sold' sellers 4

on a service scale -d "${ensembles[@]/#/sale_}" sale_part=2 >/dev/null
check 'ensembles of three start, and parts on both nodes' within 120 runs "${ensembles[@]}" part=2
check 'the members of an ensemble agree, and a Redis Cluster takes over the stock of prewarm' sells_from_cluster
check 'parts on both nodes send one sale, and strategies use the ensembles' sale_of_parts
on a service scale -d sale_part=0 >/dev/null
within 60 runs part=0

check 'a long sale begins' begins 90s 8000
check 'order-svc is replaced in mid-sale' rolls order-svc
check 'inventory-svc is replaced in mid-sale' rolls inventory
check 'no unit is lost or sold twice' ends_well

check 'order-svc spreads over the nodes again' spreads
check 'a sale begins' begins 45s 3500
cut_cable
check 'a node is lost, and no unit is lost or sold twice' ends_well
check 'its containers run on the other node' within 120 live_on_a inventory=4 order-svc=2
check 'two members of three still agree' within 60 agree
check 'a sale with them ends, each verdict as expected' sale etcd,zookeeper,prewarm 100 10ms
echo "$passed passed, $failed failed"
((failed == 0))
