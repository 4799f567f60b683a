/* Whom a client asks: "http://host:port", as URLs and the Host header have it. */
#ifndef UVKIT_HTTP_ORIGIN_H
#define UVKIT_HTTP_ORIGIN_H

#include <stddef.h>

/* Split "http://host:port" (port 80 when missing; no path, no TLS) into `host` and `port`. 0 or
 * UV_EINVAL. */
__attribute__((warn_unused_result)) int http_origin_parse(const char *url, char *host,
                                                          size_t host_size, int *port);

/* The Host header of requests for it. */
void http_origin_write(char *authority, size_t size, const char *host, int port);

#endif
