# The project's folders and the commands that its user types, for sourcing. A script runs in a checkout, or in the private folder
# of an installed copy (scripts/install), which has the same layout and no Makefile.
# Environment: RUN_DIR, B; XDG_STATE_HOME, of an installed copy.
# shellcheck shell=bash disable=SC2034 # other scripts read these variables

root=$(cd "$(dirname "$(realpath "$0")")/.." && pwd -P)
if [[ -e $root/Makefile ]]; then
    is_installed='' state=$root/.run
    B=${B:-build/gcc}
else # nothing is ever written below the prefix
    is_installed=1 state=${XDG_STATE_HOME:-${HOME:-/tmp}/.local/state}/inventory-sale
    B=${B:-$root}
fi
bin=$(cd "$root" && realpath -m "$B/bin")

command_of() { # command_of SCRIPT: the command that its user types, quoted; `stack` and `audit` are installed with a longer name
    local name
    for name in "$1" "sale-$1"; do
        if [[ $(type -P "$name") -ef $root/scripts/$1 ]]; then echo "$name" && return; fi
    done
    for name in "$1" "sale-$1"; do
        if [[ ${0%/*}/$name -ef $root/scripts/$1 ]]; then printf '%q\n' "${0%/*}/$name" && return; fi
    done
    printf '%q\n' "$root/scripts/$1"
}

called=$0 # the name that the user typed
[[ ! $(type -P "${0##*/}") -ef $0 ]] || called=${0##*/}

# The programs print these commands, too (uvkit/text/user_command.h). The script that the user called names them for all others.
export SALE_STACK=${SALE_STACK:-$(command_of stack)} SALE_LOADGEN=${SALE_LOADGEN:-$(command_of loadgen)} \
    SALE_AUDIT=${SALE_AUDIT:-$(command_of audit)} SALE_LAB=${SALE_LAB:-$(command_of lab)}
if [[ -z $is_installed ]]; then export SALE_UP='make up' SALE_DOWN='make down'; else
    export SALE_UP="$SALE_STACK up" SALE_DOWN="$SALE_STACK down"
fi

# Replace the scripts and folders of a checkout in a text by the ones of this copy.
say_commands() { # say_commands <TEXT
    local folders=()
    # shellcheck disable=SC2088 # the tilde is for the reader
    [[ -z $is_installed ]] || folders=(-e 's|(\.run|(~/.local/state/inventory-sale|g; s|B (build/gcc[^)]*)[,;]* \{0,1\}||g'
        -e 's|work/lab/NN.c, which git ignores|~/inventory-sale/lab/NN.c|; s|\([^/]\)work/lab|\1~/inventory-sale/lab|g; s|this checkout|this user|')
    sed "${folders[@]}" -e "s|scripts/stack|${SALE_STACK//[&|\\]/\\&}|g" -e "s|scripts/loadgen|${SALE_LOADGEN//[&|\\]/\\&}|g" \
        -e "s|scripts/lab|${SALE_LAB//[&|\\]/\\&}|g" -e "s|scripts/audit|${SALE_AUDIT//[&|\\]/\\&}|g" -e "s|make up|${SALE_UP//[&|\\]/\\&}|g"
}

say_usage() { # say_usage <TEXT: in a checkout the commands stay unchanged
    if [[ -n $is_installed ]]; then say_commands; else cat; fi
}

# Fit the usage text of a script into WIDTH columns. Text that follows two or more blanks continues below its own column.
wrap_usage() { # wrap_usage [WIDTH] <TEXT
    awk -v width="${1:-80}" '
        function put(  cut) {
            for (; length(line) > width; line = sprintf("%*s", hang, "") substr(line, cut + 1)) {
                for (cut = width + 1; cut > hang + 1 && substr(line, cut, 1) != " "; cut--);
                if (cut <= hang + 1) break
                print substr(line, 1, cut - 1)
            }
            if (line != "") print line
        }
        { match($0, /^ */); indent = RLENGTH; column = match($0, /[^ ]   *[^ ]/) ? RSTART + RLENGTH - 2 : indent }
        !/^Usage: |^Environment: / && indent == hang && (indent > 8 || was > 100) { line = line " " substr($0, indent + 1); was = length($0); next }
        { put(); line = $0; hang = column; was = length($0) }
        END { put() }'
}

given() { # given VARIABLE...: print the ones that differ from their default, to put before a command
    local name value
    for name; do
        value=${!name:-}
        [[ $value == *[^[:alnum:]_./:,+-]* ]] && value=${value@Q}
        [[ -z $value || $name=${!name} == "RUN_DIR=$state" || $name=${!name} == PORT_BASE=8000 || $name=${!name} == @(B=build/gcc|"B=$root") ]] || printf '%s=%s ' "$name" "$value"
    done
}
