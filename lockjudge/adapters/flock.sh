#!/bin/bash
# flock(1) on a file descriptor of this shell. The kernel frees the lock when the process ends.
# Usage: flock.sh FOLDER
command -v flock >/dev/null || { echo 'flock.sh: no program flock (Debian: util-linux)' >&2 && exit 69; }
(($# == 1)) || { sed -n 3s/..//p "$0" >&2 && exit 64; }

folder=$1 is_held=''
serve() {
    echo ready caps=fork
    while read -r verb name _ wait; do
        case $verb in
        fork) serve <&3 >&4 & echo "forked $!" ;;
        acquire)
            code=0
            { exec 9>"$folder/$name.lock"; } 2>/dev/null && flock -w "$((wait / 1000)).$(printf %03d $((wait % 1000)))" 9 || code=$?
            if ((code == 0)); then
                is_held=yes && echo 'held -'
            elif [[ -d $folder ]]; then
                exec 9>&- && echo busy
            else
                echo "error no folder $folder"
            fi
            ;;
        check) if [[ $is_held ]]; then echo held; else echo lost; fi ;;
        release) exec 9>&- && is_held='' && echo released ;;
        esac
    done
}
serve
