/* The outcomes in words. */
#include "store.h"

const char *outcome_text(enum outcome outcome) {
    static const char *const texts[] = {
#define X(name, text) text,
        OUTCOMES(X)
#undef X
    };

    return texts[outcome];
}

const char *outcome_name(enum outcome outcome) {
    static const char *const names[] = {
#define X(name, text) #name,
        OUTCOMES(X)
#undef X
    };

    return names[outcome];
}
