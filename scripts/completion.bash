# shellcheck shell=bash
# Completion for bash. It asks the program for the words that may follow: --help-format words. Without an answer bash completes a file name.
_inventory_sale() { # _inventory_sale PROGRAM WORD
    local word=${COMP_WORDS[COMP_CWORD]}
    [[ $word != = ]] || word=''
    mapfile -t COMPREPLY < <(compgen -W "$("$1" --help-format words "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null | cut -f 1)" -- "$word")
}
complete -o default -F _inventory_sale inventory-svc lab loadgen lockctl lockjudge order-svc
