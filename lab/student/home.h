/* The folder with the headers, the chapters and the scripts: a checkout, or the private folder of
 * an installed copy. It is a folder above the running program, so a moved tree works. */
#ifndef LAB_HOME_H
#define LAB_HOME_H

#include <limits.h>

/* Write the path of `below`, such as "lab", into `path`. 0; or -1 with errno: ENOENT when no folder
 * above the program has strategies/seam/strategy.h, ENAMETOOLONG. LAB_HOME in the environment names
 * the folder of a program that was built elsewhere. */
__attribute__((warn_unused_result)) int home_path(char path[static PATH_MAX], const char *below);

#endif
