/* A student's file, and the end of its building. */
#ifndef LAB_STUDENT_FILE_H
#define LAB_STUDENT_FILE_H

#include <limits.h>

#define STUDENT_SOURCE  65536 /* bytes at most */
#define STUDENT_MESSAGE 4096

enum student_end {
    STUDENT_OK,
    STUDENT_REFUSED, /* it goes beyond the seam, or does not compile: `message` says where */
    STUDENT_BROKEN,  /* no compiler, no disk; or stopped: `message` */
};

struct student_file {
    char name[NAME_MAX + 1]; /* the file's own, as messages have it */
    char folder[64];         /* a temporary one of ours, with all that is made */
    char object[128];        /* the shared object in it, once it is OK */
    char message[STUDENT_MESSAGE];
};

#endif
