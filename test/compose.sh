#!/usr/bin/env bash
# compose.sh: build the containers, run the demo in them, look at what is open and who runs; last line: N passed, N failed.
# Needs a Docker engine that answers, with docker compose or docker-compose. Environment: TEST_PORT_BASE (8700).
set -uo pipefail

cd "$(dirname "$0")/.." || exit 70
port=$((${TEST_PORT_BASE:-8700} + 200))
export ORDER_SVC_PORT=$port INVENTORY_1_PORT=$((port + 1)) INVENTORY_2_PORT=$((port + 2))
export COMPOSE_PROJECT_NAME=saletest$port POSTGRES_PASSWORD=test-postgres REDIS_PASSWORD=test-redis
export ORDER_SVC_PASSWORD=test-order INVENTORY_SVC_PASSWORD=test-inventory LOADGEN_PASSWORD=test-loadgen
export INVENTORY_SVC_SECRET=test-secret
passed=0 failed=0
output=$(mktemp) retries=$(mktemp)
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0

on_exit() {
    trap '' INT TERM
    "${compose[@]}" down -v --rmi local >/dev/null 2>&1 </dev/null
    rm -f "$output" "$retries"
}

check() { # check SENTENCE COMMAND...
    local sentence=$1
    shift
    if "$@" >"$output.check" 2>&1; then
        passed=$((passed + 1))
        printf '  ok      %s\n' "$sentence"
    else
        failed=$((failed + 1))
        printf '  FAILED  %s\n' "$sentence"
        sed 's/^/    /' "$output.check"
    fi
    rm -f "$output.check"
}

finish() {
    cat "$retries"
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

twice_at_most() { # twice_at_most COMMAND...: once more, and said aloud, when loadgen calls the run inconclusive with 2
    local code=0
    "$@" </dev/null || code=$?
    ((code == 2)) || return $code
    echo "compose.sh: inconclusive, so once more: $*" | tee -a "$retries"
    "$@" </dev/null
}

demo() {
    "${compose[@]}" run --rm -T demo >"$output" || { local code=$? && cat "$output" && return $code; }
}

has_row() { # has_row STRATEGY VERDICT
    grep -Eq "^ *$1[, ].*\b$2\b" "$output" || { cat "$output" && false; }
}

containers() {
    "${compose[@]}" ps -q
}

is_on_loopback_only() {
    local addresses
    addresses=$(containers | xargs docker inspect --format \
        '{{range .NetworkSettings.Ports}}{{range .}}{{println .HostIp .HostPort}}{{end}}{{end}}' | sed '/^$/d' | sort)
    echo "$addresses"
    [[ $addresses == "127.0.0.1 $port"$'\n'"127.0.0.1 $((port + 1))"$'\n'"127.0.0.1 $((port + 2))" ]]
}

is_unprivileged() { # is_unprivileged SERVICE: process 1 is not root's and has no capability
    "${compose[@]}" exec -T "$1" cat /proc/1/status </dev/null | tee /dev/stderr |
        awk '/^Uid:/{uid = $2} /^CapPrm:/{caps = $2} END{exit !(uid > 0 && caps ~ /^0+$/)}'
}

has_only() { # has_only SERVICE USER [VARIABLE...]: of secrets, process 1 has these in its environment and no other
    local names
    names=$("${compose[@]}" exec -T -u "$2" "$1" cat /proc/1/environ </dev/null | tr '\0' '\n' |
        sed -n 's/^\([A-Z_]*_\(PASSWORD\|DB\|REDIS\|SECRET\|AUTH\)\)=.*/\1/p' | sort | tr '\n' ' ')
    echo "$1: $names"
    [[ $names == "${*:3}${3:+ }" ]]
}

loadgen() { # loadgen ARGUMENT...: in a container of its own
    "${compose[@]}" run --rm -T demo loadgen "$@" </dev/null
}

# The folders of the demo and of the run after it, judged again by other containers.
is_kept() {
    local folders judged
    folders=$("${compose[@]}" run --rm -T demo ls -a /results </dev/null) || return
    judged=$(loadgen check /results/latest 2>&1) || return
    printf '%s\n' "$folders" "$judged"
    (($(grep -c '^[0-9]\{8\}T' <<<"$folders") >= 2)) && ! grep -q '^[.]latest' <<<"$folders" &&
        grep -Eq '^redis +VALID' <<<"$judged" && grep -q 'the same verdicts and counts' <<<"$judged"
}

two_runs() {
    local first code=0
    loadgen --no-judge --path /readyz --rate 50 &
    first=$!
    loadgen --no-judge --path /readyz --rate 50 || code=$?
    wait $first && ((code == 0))
}

trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
docker info >"$output" 2>&1 || { echo 'compose.sh: no Docker engine answers' && failed=1 && finish; }

echo "${compose[*]} build"
if ! "${compose[@]}" build >"$output" 2>&1 </dev/null; then
    tail -n 40 "$output"
    failed=1
    finish
fi
check 'the demo ends with 0' twice_at_most demo
cat "$output"
for strategy in none mutex; do check "$strategy is violated" has_row $strategy VIOLATED; done
for strategy in redis sharded atomic; do check "$strategy is valid" has_row $strategy VALID; done
check 'a run of your own ends with 0' twice_at_most "${compose[@]}" run --rm -T demo \
    loadgen --strategy redis --requests 100 --stock 50
check 'the results outlive the containers that wrote them' is_kept
check 'two runs at a time share the volume' two_runs
check 'only the three services are published, on loopback' is_on_loopback_only
for service in order-svc inventory-1 inventory-2; do check "$service runs unprivileged" is_unprivileged $service; done
check 'Postgres runs without the passwords of others' has_only postgres postgres
check 'Redis runs without a password in its environment' has_only redis redis
check 'order-svc answers from outside' curl -fsS -m 10 "http://127.0.0.1:$port/readyz"
finish
