# Processes that outlive the script that started them, by name: NAME.pid and NAME.log in $RUN_DIR; for sourcing.
# A pidfile holds the pid and the start time of the process, so a pid that now belongs to another program is never
# signalled. It reads only /proc, because a small machine has neither ps nor pgrep.
# shellcheck shell=bash

stat_of() { # stat_of PID: its state, its parent and its start time
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # splitting is the purpose; the program's name ends at the last )
    set -- ${stat##*) }
    echo "$1 $2 ${20}"
}

pid_of() { # pid_of NAME: its pid, when it runs
    local pid started state since
    { read -r pid started <"$RUN_DIR/$1.pid"; } 2>/dev/null || return 1
    read -r state _ since < <(stat_of "$pid") || return 1
    [[ $since == "$started" && $state != Z ]] && echo "$pid"
}

keep_secrets() { # keep_secrets PREFIX: unset the variables of $RUN_DIR/env, except PREFIX_... without passwords
    local variable
    while IFS='= ' read -r _ variable _; do
        [[ $variable == "$1"_* && $variable != *_PASSWORD ]] || unset "$variable"
    done <"$RUN_DIR/env"
}

become() { # become COMMAND...: run it in this process, in a new session, so that a Ctrl-C for us does not reach it
    local fd
    for fd in /proc/self/fd/*; do # for example a lock that the user's shell holds while we start
        fd=${fd##*/}
        ((fd < 3 || fd > 254)) || eval "exec $fd>&-"
    done
    exec setsid "$@"
}

launch() { # launch NAME COMMAND...: start it in the background
    local name=$1 pid started
    shift
    become "$@" </dev/null >>"$RUN_DIR/$name.log" 2>&1 &
    pid=$!
    read -r _ _ started < <(stat_of "$pid") || started=ended
    echo "$pid $started" >"$RUN_DIR/$name.pid"
}

wait_until() { # wait_until SECONDS COMMAND...: false if the command did not succeed in time
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

are_gone() { # are_gone PID...: a zombie without further threads is gone: the kernel freed all that it held
    local pid state threads
    for pid; do
        read -r state _ < <(stat_of "$pid") || continue
        threads=("/proc/$pid/task/"*)
        [[ $state == Z && ${#threads[@]} -le 1 ]] || return 1
    done
    return 0
}

is_forgotten() { # is_forgotten PID: init has collected it, too
    [[ ! -e /proc/$1 ]]
}

is_stopped() {
    local state
    read -r state _ < <(stat_of "$1") || return 0
    [[ $state == [TZ] ]]
}

children_of() { # children_of PID: set `children` to the children of its first thread
    children=()
    { read -ra children <"/proc/$1/task/$1/children"; } 2>/dev/null || true
}

freeze() { # freeze NAME: SIGSTOP for it and its children
    local pid children
    pid=$(pid_of "$1") || return 1
    # Stop the parent first, so that it starts no child while we look for them.
    kill -STOP "$pid"
    wait_until 5 is_stopped "$pid" || true
    children_of "$pid"
    ((${#children[@]} == 0)) || kill -STOP "${children[@]}" 2>/dev/null || true
}

thaw() { # thaw NAME: SIGCONT for them
    local pid children
    pid=$(pid_of "$1") || return 1
    children_of "$pid"
    kill -CONT "${children[@]}" "$pid" 2>/dev/null || true
}

slay() { # slay NAME: SIGKILL for it and its children, at once; returns when all are gone
    local pid children
    freeze "$1" || return 0
    pid=$(pid_of "$1")
    children_of "$pid"
    kill -KILL "$pid" "${children[@]}" 2>/dev/null || true
    wait_until 10 are_gone "$pid" "${children[@]}"
    rm -f "$RUN_DIR/$1.pid"
}

stop() { # stop NAME SIGNAL SECONDS: ask it to end, and kill it after that time
    local pid
    if pid=$(pid_of "$1"); then
        kill -"$2" "$pid"
        ! is_stopped "$pid" || thaw "$1" || true # a stopped one gets the signal only then
        wait_until "$3" are_gone "$pid" || slay "$1"
    fi
    rm -f "$RUN_DIR/$1.pid"
}
