/* A note in Redis of sales that this instance made (segment_redis.h). It counts them, because Redis
 * may delete the note only when the ledger has all. */
#ifndef INVENTORY_MADE_NOTE_H
#define INVENTORY_MADE_NOTE_H

#include <stdbool.h>
#include <stddef.h>

#define NOTE_ID_BYTES 48

struct made_note;

/* A note with so many sales. Each of them must end, or be kept; the last one frees the note. NULL
 * without memory: then the note stays in Redis, and is brought again, without effect. */
struct made_note *made_note_new(const char *id, size_t sales);
/* The ledger has a sale of the note. True: it has all of them, and `id` is the note's. `note` may be
 * NULL. */
bool made_note_end(struct made_note *note, char id[NOTE_ID_BYTES]);
/* The ledger may not have a sale of the note: the note stays. `note` may be NULL. */
void made_note_keep(struct made_note *note);

#endif
