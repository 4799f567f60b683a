/* The lines of a worker, parsed. Pure: any bytes may come. */
#ifndef LOCKJUDGE_LINE_H
#define LOCKJUDGE_LINE_H

#include <stddef.h>
#include <stdint.h>

struct why;

#define LINE_BYTES 1024 /* a longer line is no line of the protocol */

/* The answers, then the unasked words. */
#define LINE_WORDS(X)                                                                              \
    X(READY, "ready")                                                                              \
    X(HELD, "held")                                                                                \
    X(BUSY, "busy")                                                                                \
    X(LOST, "lost")                                                                                \
    X(RELEASED, "released")                                                                        \
    X(ERROR, "error")                                                                              \
    X(FORKED, "forked")                                                                            \
    X(LOADED, "loaded")                                                                            \
    X(SUSPECT, "suspect") /* only unasked */

enum line_word {
#define X(name, text) LINE_##name,
    LINE_WORDS(X)
#undef X
};

/* The abilities that a worker names in its ready line. */
#define LINE_CAPS(X)                                                                               \
    X(TTL, "ttl")     /* the lock of a dead holder frees itself after its TTL */                   \
    X(FENCE, "fence") /* each grant has a greater number */                                        \
    X(RENEW, "renew") /* the library renews by itself */                                           \
    X(FAIR, "fair")   /* waiters are served in the order of their arrival */                       \
    X(TOLD, "told")   /* the worker says !lost when the library does */                            \
    X(REENTRANT, "reentrant")                                                                      \
    X(SHARED, "shared")                                                                            \
    X(FORK, "fork") /* it answers `fork` */                                                        \
    X(LOAD, "load") /* it answers `load` */

enum line_cap_bit {
#define X(name, text) LINE_CAP_BIT_##name,
    LINE_CAPS(X)
#undef X
};
enum line_cap {
#define X(name, text) LINE_CAP_##name = 1 << LINE_CAP_BIT_##name,
    LINE_CAPS(X)
#undef X
};

struct line {
    enum line_word word;
    int is_unasked;
    uint64_t fence; /* of `held`; 0: none */
    unsigned caps;  /* of `ready` */
    int pid;        /* of `forked`: the child, greater than 1 */
    char text[96];  /* of `error`; printable */
};

#define LINE_CAPS_TEXT 80 /* holds all of them */

const char *line_word_text(enum line_word word);
/* "ttl,fence"; "" for none. */
void line_caps_text(unsigned caps, char *to, size_t size);

/* Parse `length` bytes without their newline. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int line_parse(const char *bytes, size_t length,
                                                   struct line *line, struct why *why);

#endif
