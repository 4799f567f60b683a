/* CRC16 of the text between the first `{` of a key and the next `}`; and redirections. */
#include "cluster_slot.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CRC-16/XMODEM, bit by bit: names are short. */
static uint16_t crc16(const char *bytes, size_t length) {
    uint16_t crc = 0;

    for (size_t i = 0; i < length; i++) {
        crc ^= (uint16_t)((unsigned char)bytes[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

/* A name with a `}` is cut there, for all of its keys alike. A name that begins with `}` leaves
 * nothing between the braces. Then each whole key counts, and the keys are in several slots. */
int cluster_slot(const char *name) {
    size_t length = strcspn(name, "}");

    return length > 0 ? crc16(name, length) % CLUSTER_SLOTS : -1;
}

bool cluster_redirection_parse(struct cluster_redirection *redirection, const char *text) {
    const char *at, *colon;
    char *end;
    long slot, port;

    redirection->is_ask = strncmp(text, "ASK ", 4) == 0;
    if (!redirection->is_ask && strncmp(text, "MOVED ", 6) != 0)
        return false;
    slot = strtol(strchr(text, ' ') + 1, &end, 10);
    at = end + 1;
    colon = *end == ' ' ? strrchr(at, ':') : NULL; /* IPv6 hosts have no brackets here */
    if (colon == NULL || colon - at >= CLUSTER_HOST_SIZE || slot < 0 || slot >= CLUSTER_SLOTS)
        return false;
    port = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || (*end && *end != ' ') || port < 1 || port > 65535)
        return false;
    redirection->slot = (int)slot;
    redirection->port = (int)port;
    (void)snprintf(redirection->host, sizeof redirection->host, "%.*s", (int)(colon - at), at);
    return true;
}
