/* The folders of a class: one for each student, with a file for each chapter.
 *
 * Any name of a folder will do, such as "Surname Name_12345_assignsubmission_file_" of Moodle. The
 * number at the beginning of a file's name is its chapter's: 3.c, 03.c, 03-late.c. */
#ifndef LAB_ROSTER_H
#define LAB_ROSTER_H

#include "chapter.h"

struct roster_file {
    char *path;  /* NULL: the student handed in none */
    char *bytes; /* at most STUDENT_SOURCE + 1; NULL: it was not read, see `why` */
    size_t size;
    char *why;       /* or NULL: why it cannot be graded */
    bool is_machine; /* the machine is at fault: no grade, instead of no points */
};

struct roster_student {
    char *name;                         /* of the folder */
    char *shown;                        /* one printable line */
    struct roster_file files[CHAPTERS]; /* of chapters 1 and so on */
    const char *why;                    /* or NULL: why the student has no file at all */
};

struct roster {
    struct roster_student *students; /* by name */
    size_t count;
};

/* Read the folders in `folder`. 0, or -1 with the reason in `why`: also if it has no student with a
 * file for a chapter. Free it in any case. */
__attribute__((warn_unused_result)) int roster_read(struct roster *roster, const char *folder,
                                                    struct why *why);
void roster_free(struct roster *roster);

#endif
