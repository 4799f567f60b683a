/* An origin, the server of a client: "http://host:port", in URLs and in the Host header. */
#ifndef UVKIT_HTTP_ORIGIN_H
#define UVKIT_HTTP_ORIGIN_H

#include <stddef.h>

/* Split "http://host:port" (default port 80; no path, no TLS) into `host` and `port`. 0 or
 * UV_EINVAL. */
__attribute__((warn_unused_result)) int http_origin_parse(const char *url, char *host,
                                                          size_t host_size, int *port);

/* Write the Host header of its requests. */
void http_origin_write(char *authority, size_t size, const char *host, int port);

#endif
