/* The files of the page, which are in the program. */
#ifndef LOADGEN_CLASS_FILES_H
#define LOADGEN_CLASS_FILES_H

#include "http_server.h"

/* Handlers, of /class and of /class/{file}. */
void class_files_page(struct http_exchange *exchange, void *data);
void class_files_other(struct http_exchange *exchange, void *data);

/* No script or style but these files; nothing from elsewhere. */
extern const char class_files_policy[];

#endif
