/* The keys of a lock in Redis, in the layout of other libraries: under its bare name.
 *
 *   string    The string `name` is the owner's token, with a TTL. The Lock of redis-py reads it,
 *             redlock on one server, redsync, and the Mutex of redis-semaphore (its key is `mutex:`
 *             and the name).
 *   redisson  The hash `name` has one field, `uuid:thread`, and a TTL. The field counts how often
 *             that thread has taken the lock. A `0` on a channel tells that it was given back. The
 *             RLock of Redisson reads it.
 *
 * The hash `lk:{name}:wire` holds the rest: the last fencing token, which rises only with the
 * grants of lockkit, and its owner. */
#ifndef LOCKKIT_WIRE_LAYOUT_H
#define LOCKKIT_WIRE_LAYOUT_H

#include "backend.h"
#include "redis.h"

#define WIRE_FIELD_SIZE   sizeof "01234567-0123-0123-0123-0123456789ab:4294967295"
#define WIRE_CHANNEL_SIZE (NAME_MAX_BYTES + sizeof "redisson_lock__channel:{}")

struct wire_layout {
    const char *scheme; /* of the URL, with the colon */
    /* The five commands as Lua scripts. All get the same arguments, and may ignore some:
     *   KEYS  1 lock, 2 the hash beside it
     *   ARGV  1 owner, 2 TTL in ms, 3 label, 4 channel, 5 the highest fencing token seen
     * They answer {1, ...} for OK and {0, ...} for BUSY or LOST. */
    const struct redis_script *scripts[LK_BREAK + 1]; /* by enum lk_verb */
    /* Translate an owner token into the lock's field, and back. Other texts stay as they are. */
    const char *(*field_of)(const char *owner, char field[WIRE_FIELD_SIZE]);
    void (*owner_of)(const char *field, char owner[OWNER_SIZE]);
    void (*channel_of)(const char *name, char channel[WIRE_CHANNEL_SIZE]);
};

extern const struct wire_layout wire_string, wire_redisson;

#endif
