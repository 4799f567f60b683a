#compdef inventory-svc lab loadgen lockctl lockjudge order-svc
# Completion for zsh. It asks the program for the words that may follow: --help-format words. Without an answer zsh completes a file name.
local -a told
told=("${(@f)$($words[1] --help-format words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
if [[ -n $told ]]; then
    told=("${(@)${(@)told//:/\\:}/$'\t'/:}")
    _describe word told
else
    _files
fi
