#!/bin/bash
# pg_advisory_lock by psql: the lock belongs to psql's session on the server. The program believes to hold it while psql runs.
# Usage: psql.sh CONNINFO (of Postgres, or of pgbouncer)
command -v psql >/dev/null || { echo 'psql.sh: no program psql (Debian: postgresql-client): scripts/deps locks' >&2 && exit 69; }
(($# == 1)) || { sed -n 3s/..//p "$0" >&2 && exit 64; }
trap '' PIPE

ask() { # ask SQL...: psql's last line is in `answer`; false: psql has ended
    answer='psql ended'
    [[ ${PSQL_PID:-} ]] && printf '%s\n' "$@" '\echo .' >&"${PSQL[1]}" || return
    while read -r line <&"${PSQL[0]}"; do
        [[ $line != . ]] || return 0
        answer=$line
    done
    return 1
} 2>/dev/null

acquire() { # acquire NAME WAIT_MS
    local key="hashtext('$1')"
    # shellcheck disable=SC2154 # coproc makes PSQL
    [[ ${PSQL_PID:-} ]] || coproc PSQL { exec psql -XqAt "$url" 2>&1; }
    if (($2)); then # lock_timeout = 0 means for ever
        ask 'BEGIN;' "SET LOCAL lock_timeout = $2;" "SELECT 'held -' WHERE pg_advisory_lock($key) IS NOT NULL;" 'COMMIT;'
    else
        ask "SELECT CASE WHEN pg_try_advisory_lock($key) THEN 'held -' ELSE 'busy' END;"
    fi
    case $answer in
    'held -' | busy) echo "$answer" ;;
    *'lock timeout'*) echo busy ;;
    *) echo "error $answer" ;;
    esac
}

url=$1 name=''
echo 'ready'
while read -r verb word _ wait; do
    case $verb in
    acquire)
        acquire "$word" "$wait"
        [[ $answer != 'held -' ]] || name=$word
        ;;
    check) if [[ $name && ${PSQL_PID:-} ]]; then echo held; else echo lost; fi ;;
    release)
        if ask "SELECT CASE WHEN pg_advisory_unlock(hashtext('$name')) THEN 'released' ELSE 'lost' END;"; then
            case $answer in released | lost) echo "$answer" ;; *) echo "error $answer" ;; esac
        else
            echo lost
        fi
        name=''
        ;;
    esac
done
