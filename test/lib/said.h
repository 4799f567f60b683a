/* Captures the text that this process writes to stderr. */
#ifndef TEST_SAID_H
#define TEST_SAID_H

void said_start(void);
/* How often `text` was written since said_start(). */
int said(const char *text);
/* Restore the usual stderr. It may be called twice. */
void said_stop(void);

#endif
