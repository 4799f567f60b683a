#!/bin/bash
# flock(1) on a file descriptor of this shell. The kernel frees the lock when the process ends.
# Usage: flock.sh FOLDER
command -v flock >/dev/null || { echo 'flock.sh: no program flock (Debian: util-linux)' >&2 && exit 69; }
(($# == 1)) || { sed -n 3s/..//p "$0" >&2 && exit 64; }

is_held=''
echo ready
while read -r verb name _ wait; do
    case $verb in
    acquire)
        code=0
        { exec 9>"$1/$name.lock"; } 2>/dev/null && flock -w "$((wait / 1000)).$(printf %03d $((wait % 1000)))" 9 || code=$?
        if ((code == 0)); then
            is_held=yes && echo 'held -'
        elif [[ -d $1 ]]; then
            exec 9>&- && echo busy
        else
            echo "error no folder $1"
        fi
        ;;
    check) if [[ $is_held ]]; then echo held; else echo lost; fi ;;
    release) exec 9>&- && is_held='' && echo released ;;
    esac
done
