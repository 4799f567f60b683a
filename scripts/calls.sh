# The calls of the seam's headers that a chapter needs, for sourcing by scripts/lab.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # backquotes are Markdown's; scripts/lab has `root` and `home`

names_in() { # names_in FILE...: what they call
    cat - "$@" <<<'store_trace(' | grep -oE '\b[a-z][a-z_]+\(' | tr -d '(' | sort -u
}

# Print each function of the headers that is in one of the files, and the types that it needs, with their comments. The headers are
# read three times: for the types of these functions, for the types inside those, and to print.
calls_in() { # calls_in FILE...
    local headers=("$root"/strategies/{seam/store,seam/read_then_write,redis/key_lock}.h) names
    names=$(names_in "$@")
    awk -v names="$names" '
        function take(  word, is_wanted) {
            if (match(text, /(struct|enum) [a-z_]+ \{/)) {
                split(substr(text, RSTART, RLENGTH), word, " ")
                is_wanted = word[2] in types
            } else if (match(text, /[a-z][a-z_]+\(/)) is_wanted = substr(text, RSTART, RLENGTH - 1) in calls
            if (is_wanted && reading == 3) { printf "%s%s%s", between, about, text; between = "\n" }
            while (is_wanted && match(text, /(struct|enum) [a-z_]+/)) {
                split(substr(text, RSTART, RLENGTH), word, " ")
                if (word[2] != "sale") types[word[2]]
                text = substr(text, RSTART + RLENGTH)
            }
            about = text = ""
        }
        BEGIN { split(names, list, "\n"); for (i in list) calls[list[i]] }
        /^\/\*/ { about = ""; is_comment = 1 }
        is_comment { about = about $0 "\n"; is_comment = !/\*\/$/; next }
        /^$/ && text == "" { about = "" }
        /^[a-z]|^#define [A-Z_]+\(X\)/ || text != "" { text = text $0 "\n" }
        text != "" && (text ~ /\{|^#/ ? /^\}|\};$/ : /;$/) { take() }
        ' reading=1 "${headers[@]}" reading=2 "${headers[@]}" reading=3 "${headers[@]}"
}

# The page of all chapters, docs/calls.md.
calls_page() {
    local name file folder text uses
    text=$(calls_in "$root"/lab/[0-9][0-9]-*/*.c)
    uses=$(for file in "$root"/lab/[0-9][0-9]-*/exercise.c; do
        folder=${file%/*} file=${folder##*/}
        names_in "$folder"/*.c | sed "s/\$/ $((10#${file%%-*}))/"
    done)
    cat <<'PAGE'
# The calls you need

A student's file calls its store. These are the calls of [store.h](../strategies/seam/store.h),
[read_then_write.h](../strategies/seam/read_then_write.h) and [key_lock.h](../strategies/redis/key_lock.h) that the exercises,
hints and answers of the chapters use, and their types. `scripts/lab calls` prints this page, and `scripts/lab calls N` the calls
of chapter N. `store_trace()` helps in each of them: it shows a text among a sale's steps, where `printf()` is refused.

| call | chapters |
|---|---|
PAGE
    for name in $(grep -oE '^[a-z].*\b[a-z][a-z_]+\(' <<<"$text" | grep -oE '[a-z_]+\($' | tr -d '('); do
        printf '| `%s()` | %s |\n' "$name" "$(sed -n "s/^$name //p" <<<"$uses" | paste -sd, | sed 's/,/, /g')"
    done
    printf '\n```c\n%s\n```\n' "$text"
}

calls() {
    calls_in "$home"/*.c
    printf '\nlab: the whole header is %s\n' "$root/strategies/seam/store.h"
}
