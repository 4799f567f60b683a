/* Quotes with ' what is not plain. */
#include "shell_word.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *word, size_t length) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_=+.,:/@%";

    return length > 0 && strspn(word, plain) >= length;
}

void shell_word_print(const char *word, size_t length, FILE *to) {
    if (is_plain(word, length)) {
        fwrite(word, 1, length, to);
        return;
    }
    fputc('\'', to);
    for (size_t i = 0; i < length; i++)
        fputs(word[i] == '\'' ? "'\\''" : (char[]){word[i], '\0'}, to);
    fputc('\'', to);
}
