/* The results of a class: a table for people, a CSV, and a results.json for each student. */
#ifndef LAB_SHEET_H
#define LAB_SHEET_H

#include "class.h"

/* A table in at most 100 columns, and below it the reasons. */
void sheet_print(const struct class *class, FILE *to);
/* Write CSV (RFC 4180), with a line for each student. `data` is a struct class; 0. It fits
 * whole_file_write(). */
int sheet_write_csv(const void *data, FILE *to);
/* Write FOLDER/STUDENT/results.json, in Gradescope's format, for each student with a grade for each
 * file. 0, or -1 with the reason. */
__attribute__((warn_unused_result)) int sheet_write_results(const struct class *class,
                                                            const char *folder, struct why *why);

#endif
