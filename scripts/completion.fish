# Completion for fish. It asks the program for the words that may follow: --help-format words. fish adds file names.
for program in inventory-svc lab loadgen lockctl lockjudge order-svc
    complete -c $program -a '('$program' --help-format words (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)'
end
