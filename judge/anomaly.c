/* The names of anomalies, and what they mean. */
#include "anomaly.h"

const char *anomaly_name(enum anomaly anomaly) {
    static const char *const names[] = {
#define X(id, name, text) name,
        ANOMALIES(X)
#undef X
    };
    return names[anomaly];
}

const char *anomaly_text(enum anomaly anomaly) {
    static const char *const texts[] = {
#define X(id, name, text) text,
        ANOMALIES(X)
#undef X
    };
    return texts[anomaly];
}
