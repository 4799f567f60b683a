/* The HTTP interface of an instance in a test, and requests to it. */
#ifndef TEST_FRONT_H
#define TEST_FRONT_H

#include "instance.h"
#include "web.h"

#define SECRET    "Authorization: Bearer hush\r\n" /* the instance's */
#define JSON_BODY "Content-Type: application/json\r\n"

extern struct web web;
extern struct web_call reply; /* the last one */

int set_up_web(void **state);
int tear_down_web(void **state);

/* Each returns the status. */
int call(const char *method, const char *target, const char *headers, const char *body);
/* Send `method` with the secret; the three pieces make the target. */
int get(const char *method, const char *path, const char *id, const char *rest);
int reserve_body(const char *product_id, const char *body);
int reserve(const char *product_id, const char *order_id);

/* A member of the reply; "" when it is not a text. */
const char *text_of(const char *key);
int64_t integer_of(const char *key);
/* The reply has this status, this code and a reason. */
void expect_error(int got, int status, const char *code);

#endif
