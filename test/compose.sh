#!/bin/bash -p
# compose.sh: build the containers, run the demo, check open ports and users of processes; last line: N passed, N failed.
# Needs a Docker engine that answers, with docker compose or docker-compose. Environment: TEST_PORT_BASE (8700).
set -uo pipefail

cd "$(dirname "$0")/.." || exit 70
port=$((${TEST_PORT_BASE:-8700} + 200))
export ORDER_SVC_PORT=$port INVENTORY_PORTS=$((port + 1))-$((port + 8)) REPORT_PORT=$((port + 9))
export IMAGE=saletest$port:new REVISION=0123456789abcdef0123456789abcdef01234567
export COMPOSE_PROJECT_NAME=saletest$port POSTGRES_PASSWORD=test-postgres REDIS_PASSWORD=test-redis
export ORDER_SVC_PASSWORD=test-order INVENTORY_SVC_PASSWORD=test-inventory LOADGEN_PASSWORD=test-loadgen
export INVENTORY_SVC_SECRET=test-secret
passed=0 failed=0
output=$(mktemp) copy=$(mktemp -d) burner=$COMPOSE_PROJECT_NAME-burner
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
if docker buildx version >/dev/null 2>&1; then plain=(--progress=plain); else plain=() && export DOCKER_BUILDKIT=0; fi

stop_burners() {
    docker ps -aqf "name=^$burner" | xargs -r docker rm -f
}

clean_up() { # after this run, or a killed one: its containers still mount the files of its checkout
    stop_burners
    "${compose[@]}" --profile report --profile lab --profile cluster down -v --remove-orphans
    docker rmi "$IMAGE" "$IMAGE-other"
} >/dev/null 2>&1 </dev/null

on_exit() {
    trap '' INT TERM
    clean_up
    rm -rf "$output" "$copy"
}

check() { # check SENTENCE COMMAND...
    local sentence=$1
    shift
    if "$@" >"$output.check" 2>&1 </dev/null; then
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
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

demo() { # demo OPTION...: options of compose run
    "${compose[@]}" run --rm -T "$@" demo >"$output" </dev/null || { local code=$? && cat "$output" && return $code; }
}

# The demo without real-time priority, beside programs that use all processors.
slow_demo() {
    local i code=0
    for ((i = 0; i < 2 * $(nproc); i++)); do
        docker run -d --rm --name "$burner-$i" "$IMAGE" sh -c 'while :; do :; done' || return
    done
    demo -e LOADGEN_NO_REALTIME=1 || code=$?
    stop_burners
    ((code == 0)) && ! grep -E '^(none|mutex|redis|sharded|atomic) .*INCONCLUSIVE' "$output"
}

# The engine may give no container real-time priority: then the program's file must still have the right to it.
is_punctual() {
    if docker run --rm --user 0 --cap-drop ALL --cap-add SYS_NICE "$IMAGE" chrt -r 1 true; then
        grep 'with real-time priority' "$output" || { cat "$output" && false; }
    else
        "${compose[@]}" run --rm -T demo sh -c 'getcap /usr/local/bin/loadgen; cat /proc/self/status' </dev/null | tee /dev/stderr |
            awk '/cap_sys_nice/{right = 1} /^NoNewPrivs:/{new = !$2} /^CapBnd:.*0800000$/{bound = 1} END{exit !(right && new && bound)}'
    fi
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
    ((4 == $(wc -l <<<"$addresses"))) && ! grep -v '^127[.]0[.]0[.]1 ' <<<"$addresses" &&
        (($(awk -v low=$port -v high=$((port + 9)) '$2 > low && $2 < high' <<<"$addresses" | wc -l) == 2))
}

is_one_image() { # all containers but the two servers' have it, and no other image was tagged for the project
    local images tags
    images=$(containers | xargs docker inspect --format '{{.Config.Image}} {{.Image}}' | grep -v '^\(postgres\|redis\):' | sort -u)
    tags=$(docker images --format '{{.Repository}}:{{.Tag}}' | grep "^$COMPOSE_PROJECT_NAME" | sort)
    printf '%s\n' "$images" "$tags"
    [[ $images == "$IMAGE sha256:"* && $images != *$'\n'* && $tags == "$IMAGE" ]]
}

built() { # built REVISION: build it from the copy, and print the log
    docker build --build-arg REVISION="$1" -t "$IMAGE-other" "${plain[@]}" "$copy" 2>&1 </dev/null
}

id_of() {
    docker image inspect --format '{{.Id}}' "$1"
}

# Another README, test and script give the same image, to the byte.
is_cached() {
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" || return
    echo 'Edited.' >>"$copy/README.md"
    echo '/* Edited. */' >>"$copy/judge/test/test_verdict.c"
    echo '# Edited.' >>"$copy/scripts/demo"
    built "$REVISION" || return
    [[ $(id_of "$IMAGE-other") == "$(id_of "$IMAGE")" ]]
}

names_revision() { # another revision compiles only the sources with its name
    local log compiled
    log=$(built "other$(date +%s%N)") || return # in no cache
    echo "$log"
    compiled=$(sed -n 's|^ *CC *out/\(.*\)\.o$|\1.c|p; s|^#.* CC *out/\(.*\)\.o$|\1.c|p' <<<"$log" | sort)
    [[ $compiled == "$(git grep -lw REVISION -- '*.c' | sort)" ]]
}

has_revision() {
    "${compose[@]}" run --rm -T demo cat /results/latest/env.json </dev/null | tee /dev/stderr | grep -c "\"git\": *\"$REVISION\""
}

is_served() { # the list of runs, and the newest page
    local list page
    "${compose[@]}" up -d report </dev/null || return
    list=$(curl -fsS -m 10 --retry 20 --retry-delay 1 --retry-all-errors "http://127.0.0.1:$REPORT_PORT/") || return
    page=$(grep -o '[^"]*report.html' <<<"$list" | sed -n 1p)
    echo "$page"
    curl -fsS -m 10 "http://127.0.0.1:$REPORT_PORT/${page#/}" | grep -c '<title>loadgen report</title>'
}

is_unprivileged() { # is_unprivileged SERVICE: process 1 is not root's and has no capability
    "${compose[@]}" exec -T "$1" cat /proc/1/status </dev/null | tee /dev/stderr |
        awk '/^Uid:/{uid = $2} /^CapPrm:/{caps = $2} END{exit !(uid > 0 && caps ~ /^0+$/)}'
}

has_only() { # has_only SERVICE USER [VARIABLE...]: process 1 has these secrets in its environment and no other
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

refuses_failpoints() {
    local said code=0
    said=$(loadgen --strategy atomic --fault after-read:error@1 2>&1) || code=$?
    echo "$said"
    ((code == 64)) && [[ $said == *'docker compose --profile lab run --rm lab'* ]]
}

instances_in_use() {
    curl -fsS -m 10 "http://127.0.0.1:$port/metrics" | grep -c '^order_inventory_up{.*} 1$'
}

has_instances() { # has_instances NUMBER
    [[ $(instances_in_use) == "$1" ]]
}

within_20_s() { # within_20_s COMMAND...: becomes true
    local end=$((SECONDS + 20))
    until "$@"; do ((SECONDS < end)) || return; done
}

instances_of_last_sale() {
    "${compose[@]}" exec -T postgres psql -XAtU postgres inventory -c "SELECT count(DISTINCT instance) FROM reservation
        WHERE product_id = (SELECT product_id FROM product ORDER BY created_at DESC LIMIT 1)" </dev/null
}

# order-svc keeps running, and finds new instances and lost ones.
sells_with() { # sells_with NUMBER
    local sellers
    "${compose[@]}" up -d --no-recreate --scale inventory="$1" order-svc </dev/null && within_20_s has_instances "$1" &&
        loadgen --strategy redis --requests 200 --stock 100 --late 1s && sellers=$(instances_of_last_sale) || return
    echo "$sellers instances sold"
    ((sellers == $1))
}

ask_cluster() { # ask_cluster NODE COMMAND...
    "${compose[@]}" exec -T "cluster-$1" redis-cli "${@:2}" </dev/null
}

is_taken_over() {
    [[ $(ask_cluster 4 role) == master* && $(ask_cluster 4 cluster info) == *cluster_state:ok* ]]
}

# The key's slot belongs to the first master.
survives_a_kill() {
    ask_cluster 2 -c set bar kept && "${compose[@]}" kill cluster-1 && within_20_s is_taken_over && ask_cluster 2 -c get bar | grep -x kept
}

two_runs() {
    local first code=0
    loadgen --no-judge --path /readyz --rate 50 --late 1s &
    first=$!
    loadgen --no-judge --path /readyz --rate 50 --late 1s || code=$?
    wait $first && ((code == 0))
}

# `up` stops the other containers when the demo ends. Here the demo judges a folder that does not exist.
returns_code() {
    local code=0
    printf 'services:\n  demo:\n    command: loadgen check /nowhere\n' >"$copy/nowhere.yaml"
    "${compose[@]}" -f compose.yaml -f "$copy/nowhere.yaml" up --no-build --exit-code-from demo demo </dev/null || code=$?
    ((code == 66))
}

trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
docker info >"$output" 2>&1 || { echo 'compose.sh: no Docker engine answers' && failed=1 && finish; }
clean_up

echo "${compose[*]} build"
if ! "${compose[@]}" build >"$output" 2>&1 </dev/null; then
    tail -n 40 "$output"
    failed=1
    finish
fi
check 'the demo ends with 0' demo
cat "$output"
check 'real-time priority is used if the engine has it' is_punctual
for strategy in none mutex; do check "$strategy is violated" has_row $strategy VIOLATED; done
for strategy in redis sharded atomic; do check "$strategy is valid" has_row $strategy VALID; done
check 'a run of your own ends with 0' "${compose[@]}" run --rm -T demo \
    loadgen --strategy redis --requests 100 --stock 50 --late 1s
check 'the results outlive the containers that wrote them' is_kept
check 'two runs at a time share the volume' two_runs
check 'the demo is conclusive on a slow engine without real-time priority' slow_demo
check 'the revision stands in env.json' has_revision
check 'the page is served' is_served
check 'the services and the page are published only on loopback' is_on_loopback_only
check 'one image is built and tagged once' is_one_image
check 'an edit of README, a test or a script compiles nothing' is_cached
check 'another revision compiles only the sources that name it' names_revision
for service in order-svc inventory; do check "$service runs unprivileged" is_unprivileged $service; done
check 'Postgres runs without the passwords of others' has_only postgres postgres
check 'Redis runs without a password in its environment' has_only redis redis
check 'order-svc answers from outside' curl -fsS -m 10 "http://127.0.0.1:$port/readyz"
for number in 4 2; do check "with --scale inventory=$number exactly $number instances sell" sells_with $number; done
check 'the cluster serves all slots' "${compose[@]}" --profile cluster run --rm -T cluster
check 'the cluster keeps its data when a master is killed' survives_a_kill
check 'the lab has services that honour failpoints' "${compose[@]}" --profile lab run --rm -T lab
check 'the others refuse them' refuses_failpoints
check 'up returns the exit code of the demo' returns_code
finish
