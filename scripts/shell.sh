# Repairs the environment that a script gets from the user's shell: closed descriptors, blocked signals, the locale. Scripts
# source it first. `#!/bin/bash -p` has ignored BASH_ENV, CDPATH and exported functions before.
# shellcheck shell=bash

[[ -e /proc/self/fd/0 ]] || exec </dev/null
for fd in 1 2; do # if one is closed, bash or make may have opened a file of its own there for reading
    flags=closed
    [[ ! -e /proc/self/fdinfo/$fd ]] || { read -r _ && read -r _ flags; } <"/proc/self/fdinfo/$fd"
    [[ $flags == *[12] ]] || eval "exec $fd>/dev/null"
done
unset fd flags POSIXLY_CORRECT
set +o posix
export LC_ALL=C.UTF-8

# A blocked SIGTERM would reach neither us nor a server that we start. bash cannot unblock signals; perl can.
while read -r blocked signals <&3; do
    [[ $blocked != SigBlk: || $signals != *[1-9a-f]* || -n ${SIGNALS_ARE_FREE:-} ]] ||
        SIGNALS_ARE_FREE=1 exec perl -MPOSIX -e 'sigprocmask(SIG_SETMASK, POSIX::SigSet->new); exec { $ARGV[0] } @ARGV' "$0" "$@" 3<&-
done 3<"/proc/$$/status"
unset SIGNALS_ARE_FREE blocked signals

forget_postgres() { # libpq's variables, such as PGHOSTADDR, are for another server than the stack's
    local name
    for name in "${!PG@}"; do [[ $name == PG_BIN ]] || unset "$name"; done
}
