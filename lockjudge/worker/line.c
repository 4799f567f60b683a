#include "line.h"

#include "number.h"
#include "utf8.h"
#include "why.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const word_texts[] = {
#define X(name, text) text,
    LINE_WORDS(X)
#undef X
};
static const char *const cap_texts[] = {
#define X(name, text) text,
    LINE_CAPS(X)
#undef X
};

#define WORDS (sizeof word_texts / sizeof *word_texts)
#define CAPS  (sizeof cap_texts / sizeof *cap_texts)

const char *line_word_text(enum line_word word) {
    return word_texts[word];
}

void line_caps_text(unsigned caps, char *to, size_t size) {
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < CAPS; i++)
        if (caps & 1U << i && used + strlen(cap_texts[i]) + 2 <= size)
            used +=
                (size_t)snprintf(to + used, size - used, "%s%s", used > 0 ? "," : "", cap_texts[i]);
}

static int caps_parse(const char *rest, struct line *line, struct why *why) {
    static const char key[] = "caps=";

    if (*rest == '\0')
        return 0;
    if (strncmp(rest, key, strlen(key)) != 0)
        return why_set(why, "\"caps=\" was expected in its ready line, not \"%.60s\"", rest);
    rest += strlen(key);
    while (*rest != '\0') {
        const size_t length = strcspn(rest, ",");
        size_t i = 0;

        while (i < CAPS &&
               (strlen(cap_texts[i]) != length || strncmp(cap_texts[i], rest, length) != 0))
            i++;
        if (i == CAPS)
            return why_set(why, "there is no capability \"%.*s\"", (int)(length < 60 ? length : 60),
                           rest);
        line->caps |= 1U << i;
        rest += length + (rest[length] == ',');
    }
    return 0;
}

static int fence_parse(const char *rest, struct line *line, struct why *why) {
    int64_t fence;

    if (strcmp(rest, "-") == 0 || *rest == '\0')
        return 0;
    if (rest[strspn(rest, "0123456789")] != '\0' || number_read_int(rest, &fence) != 0)
        return why_set(why, "a fence is a number below 2^63, or -, not \"%.40s\"", rest);
    if (fence == 0)
        return why_set(why, "a fence is greater than 0; write - if there is none");
    line->fence = (uint64_t)fence;
    return 0;
}

static int pid_parse(const char *rest, struct line *line, struct why *why) {
    int64_t pid;

    if (rest[strspn(rest, "0123456789")] != '\0' || number_read_int(rest, &pid) != 0 || pid < 2 ||
        pid > INT_MAX)
        return why_set(why, "behind \"forked\" is the process id of the child, not \"%.40s\"",
                       rest);
    line->pid = (int)pid;
    return 0;
}

/* Only these words have something behind them. */
static int rest_parse(const char *rest, struct line *line, struct why *why) {
    if (line->word == LINE_READY)
        return caps_parse(rest, line, why);
    if (line->word == LINE_HELD && !line->is_unasked)
        return fence_parse(rest, line, why);
    if (line->word == LINE_FORKED)
        return pid_parse(rest, line, why);
    if (line->word == LINE_ERROR) {
        (void)snprintf(line->text, sizeof line->text, "%s", rest);
        utf8_make_printable(line->text); /* the cut may have parted a character */
    } else if (*rest != '\0') {
        return why_set(why, "nothing may follow \"%s\", but \"%.60s\" does", word_texts[line->word],
                       rest);
    }
    return 0;
}

int line_parse(const char *bytes, size_t length, struct line *line, struct why *why) {
    char text[LINE_BYTES];
    const char *word = text;
    size_t end, i = 0;

    *line = (struct line){.word = LINE_ERROR};
    if (length >= sizeof text)
        return why_set(why, "it is longer than %d bytes", LINE_BYTES - 1);
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (strlen(text) != length)
        return why_set(why, "it has a zero byte");
    if (length > 0 && text[length - 1] == '\r')
        text[length - 1] = '\0';
    utf8_make_printable(text);
    line->is_unasked = *word == '!';
    word += line->is_unasked;
    end = strcspn(word, " ");
    while (i < WORDS && (strlen(word_texts[i]) != end || strncmp(word_texts[i], word, end) != 0))
        i++;
    if (i == WORDS)
        return why_set(why, "\"%.80s\" begins with no word of the protocol", text);
    line->word = (enum line_word)i;
    if (line->is_unasked ? i != LINE_LOST && i != LINE_SUSPECT && i != LINE_HELD
                         : i == LINE_SUSPECT)
        return why_set(why, "\"%.80s\": a worker says this only %s", text,
                       line->is_unasked ? "when it is asked" : "unasked, behind a !");
    return rest_parse(word + end + (word[end] == ' '), line, why);
}
