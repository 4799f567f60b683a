# Completion for fish. Each program itself says what may stand there: --help-format words. Beside that files may.
for program in inventory-svc lab loadgen lockctl order-svc
    complete -c $program -a '('$program' --help-format words (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)'
end
