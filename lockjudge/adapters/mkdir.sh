#!/bin/bash
# mkdir: the program that makes the folder has the lock, and removes it in the end. Nobody removes the folder of a dead holder.
# Usage: mkdir.sh FOLDER
(($# == 1)) || { sed -n 3s/..//p "$0" >&2 && exit 64; }

folder=$1 is_held=''
serve() {
    echo ready caps=fork
    while read -r verb word _ wait; do
        case $verb in
        fork) serve <&3 >&4 & echo "forked $!" ;;
        acquire)
            lock=$folder/$word
            end=$((${EPOCHREALTIME/[^0-9]/} / 1000 + wait))
            until mkdir "$lock" 2>/dev/null && is_held=yes || ((${EPOCHREALTIME/[^0-9]/} / 1000 >= end)); do sleep 0.02; done
            if [[ $is_held ]]; then
                echo 'held -'
            elif [[ -d $lock ]]; then
                echo busy
            else
                echo "error no lock can be made in $folder"
            fi
            ;;
        check) if [[ $is_held ]]; then echo held; else echo lost; fi ;;
        release) if rmdir "$lock" 2>/dev/null; then echo released; else echo lost; fi && is_held='' ;;
        esac
    done
}
serve
