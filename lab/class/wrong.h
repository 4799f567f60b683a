/* A page for the projector: what most of a class got wrong. It is one file that loads nothing. */
#ifndef LAB_WRONG_H
#define LAB_WRONG_H

#include "class.h"

struct wrong_page {
    const struct class *class;
    bool has_names; /* with a table of the students */
};

/* `data` is a struct wrong_page. 0, or -1 with errno. It fits whole_file_write(). */
int wrong_write_page(const void *data, FILE *to);

#endif
