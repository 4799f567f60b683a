/* What this process writes to stderr meanwhile. */
#ifndef TEST_SAID_H
#define TEST_SAID_H

void said_start(void);
/* How often `text` has been written since. */
int said(const char *text);
/* Back to the usual stderr, if it is not. */
void said_stop(void);

#endif
