/* The end of a backend. */
#include "backend.h"

#include <stdlib.h>

void backend_end(struct lk_backend *backend) {
    lk_close_cb cb = backend->on_closed;
    void *data = backend->data;

    free(backend);
    if (cb != NULL)
        cb(data);
}
