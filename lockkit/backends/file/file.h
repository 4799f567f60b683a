/* Locks in a folder, among the processes of one machine. */
#ifndef LOCKKIT_FILE_H
#define LOCKKIT_FILE_H

#include "backend.h"

extern const struct lk_backend_ops backend_file;

#endif
