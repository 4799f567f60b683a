/* The exit codes of loadgen. */
#ifndef LOADGEN_EXIT_CODE_H
#define LOADGEN_EXIT_CODE_H

#define EXIT_AS_EXPECTED  0
#define EXIT_UNEXPECTED   1
#define EXIT_INCONCLUSIVE 2
#define EXIT_USAGE        64
#define EXIT_NO_INPUT     66 /* a results folder does not exist or cannot be read */
#define EXIT_UNREACHABLE  69
#define EXIT_INTERNAL     70
#define EXIT_THRESHOLD    99
#define EXIT_INTERRUPTED  130

#endif
