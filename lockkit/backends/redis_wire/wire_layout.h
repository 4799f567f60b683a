/* How others keep a lock in Redis: under its bare name.
 *
 *   string    the string `name` is the owner's token, with a TTL: the Lock of redis-py, redlock on
 * one server, the Mutex of redis-semaphore (whose key is `mutex:` and its name), redsync redisson
 * the hash `name` has one field, `uuid:thread`, how often that thread has taken it, and a TTL; `0`
 * on a channel tells that it was given back: the RLock of Redisson
 *
 * What they do not have stands beside it, in the hash `lk:{name}:wire`: the last fencing token,
 * which rises with the grants of lockkit alone, and who got it. */
#ifndef LOCKKIT_WIRE_LAYOUT_H
#define LOCKKIT_WIRE_LAYOUT_H

#include "backend.h"

#define WIRE_FIELD_SIZE   sizeof "01234567-0123-0123-0123-0123456789ab:4294967295"
#define WIRE_CHANNEL_SIZE (NAME_MAX_BYTES + sizeof "redisson_lock__channel:{}")

struct wire_layout {
    const char *scheme; /* of the URL, with the colon */
    /* The five commands as Lua scripts, all with the same arguments, used or not:
     *   KEYS  1 lock, 2 what stands beside it
     *   ARGV  1 owner, 2 TTL in ms, 3 label, 4 channel, 5 the highest fencing token seen
     * They answer {1, ...} for OK and {0, ...} for BUSY or LOST. */
    struct wire_script {
        const char *text;
        const char *sha1;    /* of the text, for EVALSHA; the tests hold it against the server's */
    } scripts[LK_BREAK + 1]; /* by enum lk_verb */
    /* An owner token as it stands in the lock, and back. What is no token of ours stays as it is.
     */
    const char *(*field_of)(const char *owner, char field[WIRE_FIELD_SIZE]);
    void (*owner_of)(const char *field, char owner[OWNER_SIZE]);
    void (*channel_of)(const char *name, char channel[WIRE_CHANNEL_SIZE]);
};

extern const struct wire_layout wire_string, wire_redisson;

#endif
