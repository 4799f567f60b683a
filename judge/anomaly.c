/* The names of anomalies and their meanings. */
#include "anomaly.h"

static const struct {
    const char *name, *text;
} anomalies[] = {
#define X(id, name, text) {name, text},
    ANOMALIES(X)
#undef X
};

const char *anomaly_name(enum anomaly anomaly) {
    return anomalies[anomaly].name;
}

const char *anomaly_text(enum anomaly anomaly) {
    return anomalies[anomaly].text;
}
