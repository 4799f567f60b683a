/* A student's file, and the result of its build. */
#ifndef LAB_STUDENT_FILE_H
#define LAB_STUDENT_FILE_H

#include "folder.h"

#include <limits.h>

#define STUDENT_SOURCE  65536 /* bytes at most */
#define STUDENT_MESSAGE 4096

enum student_end {
    STUDENT_OK,
    STUDENT_REFUSED, /* it goes beyond the seam, or does not compile: `message` says where */
    STUDENT_BROKEN,  /* no compiler, memory, disk or header; or it was stopped: see `message` */
};

struct student_file {
    char name[NAME_MAX + 1];  /* the file's own name, for messages */
    char folder[FOLDER_PATH]; /* a temporary folder of ours, with all files of the build */
    int lock;                 /* of that folder */
    char object[128];         /* the shared object in that folder, if the build is OK */
    char message[STUDENT_MESSAGE];
    char
        warnings[STUDENT_MESSAGE]; /* of the compiler: the first few, a line each, with the place */
};

#endif
