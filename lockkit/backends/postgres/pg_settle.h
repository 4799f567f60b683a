/* The first statement of a session for locks. */
#ifndef LOCKKIT_PG_SETTLE_H
#define LOCKKIT_PG_SETTLE_H

#define PG_SETTLE_SIZE 2048

/* Of a session that the server, or a pooler, has told this pid. It answers with one row: is the
 * session ours, is the server a standby, the settings, is the table missing. */
void pg_settle_write(char sql[PG_SETTLE_SIZE], int pid);

#endif
