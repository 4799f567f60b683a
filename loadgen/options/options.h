/* Reads and checks what the user asked for. */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include "option_table.h"

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/* Fill `options` from the arguments and the environment. HELP has been printed on stdout; BAD has
 * been told on stderr. The strings live until options_free(). */
__attribute__((warn_unused_result)) enum options_result options_read(struct options **options,
                                                                     int argc, char **argv);
void options_free(void);

#endif
