/* Quotes a word that is not plain with ', and one that would command a terminal with $''. */
#include "shell_word.h"

#include "utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static bool shell_word_is_plain(const char *word, size_t length) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_=+.,:/@%";

    return length > 0 && strspn(word, plain) >= length;
}

/* The length of the printable character that begins here, or 0. */
static size_t shell_word_printable(const char *at, size_t left) {
    const size_t length = utf8_printable(at);

    return length <= left ? length : 0;
}

static bool shell_word_is_printable(const char *word, size_t length) {
    size_t step = 1;

    for (size_t i = 0; i < length && step > 0; i += step)
        step = shell_word_printable(word + i, length - i);
    return step > 0;
}

static void print_escaped(const char *word, size_t length, FILE *to) {
    fputs("$'", to);
    for (size_t i = 0; i < length; i++) {
        const size_t step = shell_word_printable(word + i, length - i);

        if (step == 0)
            fprintf(to, "\\%03o", (unsigned)(unsigned char)word[i]);
        else if (strchr("'\\", word[i]) != NULL)
            fprintf(to, "\\%c", word[i]);
        else
            i += fwrite(word + i, 1, step, to) - 1;
    }
    fputc('\'', to);
}

void shell_word_print(const char *word, size_t length, FILE *to) {
    assert(strnlen(word, length) == length);
    if (shell_word_is_plain(word, length)) {
        fwrite(word, 1, length, to);
        return;
    }
    if (!shell_word_is_printable(word, length)) {
        print_escaped(word, length, to);
        return;
    }
    fputc('\'', to);
    for (size_t i = 0; i < length; i++)
        fputs(word[i] == '\'' ? "'\\''" : (char[]){word[i], '\0'}, to);
    fputc('\'', to);
}
