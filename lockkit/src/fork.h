/* Is this still the process that opened a client? After fork() the child has a copy of its memory,
 * and the parent's sockets, but no loop thread: it must not touch them. */
#ifndef LOCKKIT_FORK_H
#define LOCKKIT_FORK_H

/* How many forks lie between this process and the first one that called this function. A client
 * that remembers another number belongs to an ancestor. */
unsigned fork_depth(void);

#endif
