# The chapter of the labs about a shop of one's own, for scripts/lab: the student's work is a folder, and loadgen judges it.
# `serve PORT [wrong]` starts the shop, mine.shop describes it. One process of the shop runs for each line `base` of mine.shop.
# shellcheck shell=bash disable=SC2154 # scripts/lab has the variables and functions that are missing here

student_shop=$root/shops/student-python

own_begin() {
    [[ -e $mine ]] && return
    mkdir -p "$mine"
    cp "$home/serve" "$student_shop/shop.py" "$student_shop/ledger.py" "$mine"
    cp "$student_shop/shop.py" "$mine/wrong.py"
    echo "lab: your folder is $mine"
}

own_need_file() {
    own_begin
    [[ -e $mine/mine.shop ]] || fail 66 "there is no $mine/mine.shop: run $lab_command run $(number_of) shop new, and change its lines"
}

# ---- the processes

own_ports() { # into `ports`: those of the lines `base`
    mapfile -t ports < <(sed -nE 's/^[[:blank:]]*base[[:blank:]].*:([0-9]{1,5})([/[:blank:]].*)?$/\1/p' "$mine/mine.shop")
    ((${#ports[@]})) || fail 65 "$mine/mine.shop needs a line such as: base http://127.0.0.1:9801"
}

own_listens() { # own_listens PORT
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

own_stop() {
    local pid
    for pid in "${served[@]}"; do
        kill -- "-$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    served=()
}

own_serve() { # own_serve COUNT [wrong]: start a process for each of the first COUNT ports, and wait until they listen
    local port tries
    for port in "${ports[@]:0:$1}"; do
        ! own_listens "$port" || fail 69 "a program listens on port $port already: stop it, or change the line base in $mine/mine.shop"
        setsid "$mine/serve" "$port" "${@:2}" </dev/null &
        served+=("$!")
        for ((tries = 0; tries < 200; tries++)); do
            ! own_listens "$port" || continue 2
            kill -0 "$!" 2>/dev/null || break
            sleep 0.1
        done
        fail 69 "$mine/serve $port ${*:2} started nothing that listens on port $port"
    done
}

own_on_exit() {
    local code=$?
    trap '' INT TERM HUP QUIT
    own_stop
    rm -f "$mine/.one.shop" "$mine/.said"
    exit "$code"
}

own_prepare() { # the processes stop when this script ends
    own_need_file
    need_programs loadgen
    [[ -x $mine/serve ]] || fail 66 "$mine/serve is no program: it starts your shop"
    served=()
    trap own_on_exit EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    trap 'exit 131' QUIT
    own_ports
}

own_load() { # own_load [ARGUMENT...]
    leave_out_given "$@"
    "$root/scripts/loadgen" --shop "$mine/mine.shop" "${usual[@]}" "$@"
}

# The wrong shop locks nothing, so it is as fast as this machine allows.
own_reach() { # own_reach [ARGUMENT...]: sell with the wrong shop before, and compare
    local code=0
    own_serve "${#ports[@]}" wrong
    sell_before own_load "$@"
    own_stop
    own_serve "${#ports[@]}"
    own_load --results "$RUN_DIR/reach/mine" "$@" || code=$?
    ((code == 0 || code == 2)) || return "$code"
    hold_limits
}

own_run() { # own_run [--wrong|--reach] [shop new|order|check] [ARGUMENT...]
    local which=()
    if [[ $* == 'shop new' ]]; then
        own_begin
        cd "$mine" || exit
        exec "$root/scripts/loadgen" shop new mine
    fi
    own_prepare
    if [[ ${1:-} == --reach ]]; then
        own_reach "${@:2}"
        return
    fi
    [[ ${1:-} != --wrong ]] || { which=(wrong) && shift; }
    own_serve "${#ports[@]}" "${which[@]}"
    if [[ ${1:-} == shop && ${2:-} == @(order|check) ]]; then
        "$root/scripts/loadgen" shop "$2" "$mine/mine.shop" "${@:3}"
    else
        own_load "$@"
    fi
}

# ---- points

own_of_check() { # own_of_check K KEY: a member of check K
    sed -n "/^  \"checks\"/,\$s/^ *\"$2\": \"\{0,1\}\(.*[^\",]\)\"\{0,1\},\{0,1\}$/\1/p" "$home/chapter.json" | sed -n "$1p"
}

own_failure() { # the part of $mine/.said that says why
    local part
    part=$(sed -nE '/: (VIOLATED|INCONCLUSIVE)/,/^$/p; /MISSED|^FAILED/,/^$/p' "$mine/.said" | sed '/^$/d')
    printf '%s\n' "${part:-$(tail -n 12 "$mine/.said")}"
}

own_tell() { # own_tell K HOLDS: the line of check K
    local points
    points=$(own_of_check "$1" points)
    if [[ -n $2 ]]; then
        total=$((total + points))
        printf '  holds  %3d of %3d  %s\n' "$points" "$points" "$(own_of_check "$1" name)"
    else
        printf '  FAILS    0 of %3d  %s\n' "$points" "$(own_of_check "$1" name)"
        own_failure | sed 's/^/      /'
        printf '      Next: %s\n' "$(own_of_check "$1" advice | say_commands)"
    fi
}

customers=120
own_attack() { # own_attack FILE STOCK [ARGUMENT...]: into $mine/.said; the points do not depend on how punctual the machine is
    LOADGEN_NO_RESULTS=1 "$root/scripts/loadgen" --shop "$1" --customers "$customers" --stock "$2" --late 1s --drain 10s --no-progress \
        "${@:3}" >"$mine/.said" 2>&1
}

# A run holds if it is VALID, each unit was sold, and each other customer heard "sold out". Nobody knows the stock before.
own_sells() { # own_sells FILE
    local stock=$((20 + RANDOM % 21))
    own_attack "$1" "$stock" --threshold "sold==$stock" --threshold "sold_out==$((customers - stock))"
}

own_oversells() { # own_oversells FILE
    local code=0
    own_attack "$1" 30 || code=$?
    ((code == 1)) && grep -q 'OVERSELL, [0-9]' "$mine/.said"
}

own_check() {
    local total=0 one=$mine/.one.shop holds
    own_prepare
    awk '/^[ \t]*base[ \t]/ && n++ { print ""; next } { print }' "$mine/mine.shop" >"$one" # only the first base; the lines keep their numbers
    printf 'Chapter %d, %s: %s\n' "$(number_of)" "$(told title)" "$mine"

    own_serve 1
    "$root/scripts/loadgen" shop check "$one" --drain 5s >"$mine/.said" 2>&1 && holds=1 || holds=''
    own_tell 1 "$holds"
    own_stop
    if [[ -z $holds ]]; then
        echo "  0 of 100 points: the other checks need a file that passes its own test"
        return 1
    fi

    own_serve 1 wrong
    own_oversells "$one" && holds=1 || holds=''
    own_tell 2 "$holds"
    own_stop

    own_serve 1
    own_sells "$one" && holds=1 || holds=''
    own_tell 3 "$holds"
    own_stop

    holds=''
    echo "mine.shop has one line base" >"$mine/.said"
    if ((${#ports[@]} >= 2)); then
        own_serve "${#ports[@]}"
        own_sells "$mine/mine.shop" && holds=1
    fi
    own_tell 4 "$holds"
    echo "  $total of 100 points"
    ((total == 100)) && touch "$note.passed"
}

# ---- hints, an answer, and the beginning again

own_hint() { # own_hint [K]
    local next
    next_hint "$@"
    case $next in
    2) sed -n '/^== setup/,/^== ledger/p' "$student_shop/student.shop" | sed '$d' ;;
    3) sed -n '/^== ledger/,$p' "$student_shop/student.shop" | sed "s|shops/student-python|$mine|; s|{{db}}|$mine/shop.db|" ;;
    5) cat "$student_shop/with_lock.py" ;;
    esac
}

own_answer() {
    sed "/^run file/d; /^config/d; s|shops/student-python|$mine|; s|^set db .*|set db $mine/shop.db|; s|^# base|base|" "$student_shop/student.shop"
    printf '\n# ---- and in place of the function sell of shop.py (%s):\n\n' "$student_shop/cured.py"
    sed -n '/^def sell/,/^$/p' "$student_shop/cured.py" | sed 's/shop[.]ask/ask/'
}

own_reset() {
    local kept='' k=1
    if [[ -e $mine ]]; then
        while [[ -e $mine.~$k~ ]]; do k=$((k + 1)); done
        kept=$mine.~$k~
        mv "$mine" "$kept"
    fi
    rm -f "$note.passed" "$note.hints"
    own_begin
    [[ -z $kept ]] || echo "lab: your old folder is $kept"
}
