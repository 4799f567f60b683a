#!/bin/bash -p
# swarm.sh: deploy swarm.yaml on a Swarm of only this engine, scale it, run its sale; the last line: N passed, N failed.
# Needs a Docker engine that is in no Swarm, and the image inventory-sale (make image).
set -uo pipefail

cd "$(dirname "$0")/.." || exit 70
export IMAGE=inventory-sale
passed=0 failed=0

on_exit() {
    trap '' INT TERM
    docker stack rm sale
    within 60 all_are_gone
    docker swarm leave --force
    within 60 docker volume rm sale_postgres sale_redis
} >/dev/null 2>&1

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
    if "$@"; then
        passed=$((passed + 1))
        printf '  ok      %s\n' "$sentence"
    else
        failed=$((failed + 1))
        printf '  FAILED  %s\n' "$sentence"
        docker stack ps --no-trunc sale
    fi
}

all_are_gone() {
    [[ -z $(docker ps -aqf label=com.docker.stack.namespace=sale) ]]
}

runs() { # runs SERVICE=N...: N containers of each are healthy
    local service
    for service; do
        [[ $(docker ps -qf "name=sale_${service%=*}\." -f health=healthy | wc -l) == "${service#*=}" ]] || return
    done
}

said() {
    docker service logs sale_loadgen 2>&1 | sed 's/^[^|]*| //'
}

has_ended() {
    said | grep -q '^exit code '
}

deploy() {
    local name node
    docker swarm init --advertise-addr 127.0.0.1 && node=$(docker node ls -q) || return
    docker node update --label-add sale.postgres=yes --label-add sale.redis=yes "$node" || return
    for name in postgres redis order_svc inventory_svc loadgen services; do
        openssl rand -hex 16 | tr -d '\n' | docker secret create "sale_$name" - || return
    done
    docker stack deploy -c swarm.yaml sale
} >/dev/null 2>&1

all_sold() {
    local by
    by=$(docker exec "$(docker ps -qf name=sale_postgres)" psql -U postgres inventory -Atc \
        'SELECT count(DISTINCT instance) FROM reservation')
    [[ $by == 4 ]]
}

refuse() {
    echo "swarm.sh: $*"
    echo '0 passed, 1 failed'
    exit 1
}

state=$(docker info --format '{{.Swarm.LocalNodeState}}') || refuse 'there is no Docker engine'
[[ $state == inactive ]] || refuse 'this engine is in a Swarm, which is left alone: try another engine'
[[ -z $(docker volume ls -qf name='^sale_(postgres|redis)$') ]] ||
    refuse 'the volumes sale_postgres and sale_redis are of a stack that was here: docker volume rm them, if nobody wants them'
trap on_exit EXIT
check 'it is deployed' deploy
check 'all its services become healthy' within 180 runs postgres=1 redis=1 order-svc=1 inventory=2
docker service scale -d sale_inventory=4 >/dev/null
check 'it scales to four instances' within 120 runs inventory=4
sleep 3 # order-svc looks up their name every 2 s
docker service scale -d sale_loadgen=1 >/dev/null
check 'a sale ends, each verdict as expected' eval 'within 120 has_ended && said | grep "^exit code 0"'
check 'all four have sold' all_sold
((failed == 0)) || said | tail -n 60
echo "$passed passed, $failed failed"
((failed == 0))
