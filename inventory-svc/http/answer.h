/* What the outcome of a sale is in HTTP. */
#ifndef INVENTORY_ANSWER_H
#define INVENTORY_ANSWER_H

#include "http_server.h"
#include "json_line.h"
#include "reservation.h"
#include "selling.h"

#define ANSWER_BYTES 1024 /* of a whole reservation as JSON, escapes and all */

int answer_status(enum outcome outcome);

/* The error's name; NULL when there is a unit. */
const char *answer_code(enum outcome outcome);

/* How a sale ended. */
void answer_log(const char *request, const struct selling *selling);

/* Sell, log how that ended, and add what it cost to the reply that is to be sent. False when a
 * failpoint wanted none: the connection is cut. */
bool answer_sell(struct http_exchange *exchange, struct selling *selling, struct store *store);

/* Reply that nothing was done, and why: with Retry-After when it is worth another attempt. */
void answer_refusal(struct http_exchange *exchange, enum outcome outcome, const char *message);

/* The members of a reservation: those that its order has, too; and all that there are. */
void answer_write(struct json_line *line, const struct reservation *reservation);
void answer_write_whole(struct json_line *line, const struct reservation *reservation);

#endif
