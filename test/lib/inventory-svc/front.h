/* The HTTP interface of an instance in a test, and what is asked of it. */
#ifndef TEST_FRONT_H
#define TEST_FRONT_H

#include "instance.h"
#include "web.h"

#define SECRET "Authorization: Bearer hush\r\n" /* the instance's */

extern struct web web;

int set_up_web(void **state);
int tear_down_web(void **state);

/* `method` on the target that the three pieces make, with the secret: the status. */
int get(struct web_call *call, const char *method, const char *path, const char *id,
        const char *rest);
int reserve_body(struct web_call *call, const char *product_id, const char *body);
int reserve(struct web_call *call, const char *product_id, const char *order_id);
/* A member of the reply, "" when there is no such text. */
const char *text_of(const struct web_call *call, const char *key);
/* The status that came is the one, and the reply gives this code and a reason. */
void expect_error(struct web_call *exchange, int got, int status, const char *code);

#endif
