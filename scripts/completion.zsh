#compdef inventory-svc lab loadgen lockctl order-svc
# Completion for zsh. Each program itself says what may stand there: --help-format words. Where it says nothing, a file may.
local -a told
told=("${(@f)$($words[1] --help-format words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
if [[ -n $told ]]; then
    told=("${(@)${(@)told//:/\\:}/$'\t'/:}")
    _describe word told
else
    _files
fi
