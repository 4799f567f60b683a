/* Notes of sales that this instance made. */
#include "made_note.h"

#include "text_copy.h"

#include <assert.h>
#include <stdlib.h>

struct made_note {
    char id[NOTE_ID_BYTES];
    size_t open; /* sales without an end so far */
    bool is_kept;
};

struct made_note *made_note_new(const char *id, size_t sales) {
    struct made_note *note = malloc(sizeof *note);

    assert(sales > 0);
    if (note == NULL)
        return NULL;
    *note = (struct made_note){.open = sales};
    text_copy(note->id, sizeof note->id, id);
    return note;
}

static bool made_note_close(struct made_note *note) {
    assert(note->open > 0);
    if (--note->open > 0)
        return false;
    free(note);
    return true;
}

bool made_note_end(struct made_note *note, char id[NOTE_ID_BYTES]) {
    const bool is_done = note != NULL && note->open == 1 && !note->is_kept;

    if (is_done)
        text_copy(id, NOTE_ID_BYTES, note->id);
    if (note != NULL)
        (void)made_note_close(note);
    return is_done;
}

void made_note_keep(struct made_note *note) {
    if (note == NULL)
        return;
    note->is_kept = true;
    (void)made_note_close(note);
}
