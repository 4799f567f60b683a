/* TLS to Redis, through hiredis 1.0 or later and OpenSSL; the Makefile defines UVKIT_REDIS_TLS
 * where both are there.
 *
 * The server has to prove, by a certificate that the system trusts (or SSL_CERT_FILE and
 * SSL_CERT_DIR name), that it is the host of the URL. hiredis' own way to make a session checks no
 * host names, so the session is made here. */
#include "redis_internal.h"

#include <stdio.h>
#include <string.h>

#if defined(UVKIT_REDIS_TLS) && HIREDIS_MAJOR >= 1

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

int redis_tls_init(struct redis_tls *tls) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    tls->context = context;
    if (!context)
        return UV_ENOMEM;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_default_verify_paths(context) == 1)
        return 0;
    redis_tls_free(tls);
    return UV_EIO;
}

void redis_tls_free(struct redis_tls *tls) {
    SSL_CTX_free(tls->context);
    tls->context = NULL;
}

/* An address is matched as such; a name is also told to the server. */
static bool expect_host(SSL *session, char *host) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1)
        return true;
    return SSL_set1_host(session, host) == 1 && SSL_set_tlsext_host_name(session, host) == 1;
}

void redis_tls_forget_errors(void) {
    ERR_clear_error();
}

bool redis_tls_is_greeted(const void *session) {
    return SSL_is_init_finished(session);
}

/* The failure came before an alert of the server's: its answer is no TLS. */
static bool is_foreign(const SSL *session, unsigned long error) {
    return !SSL_is_init_finished(session) && ERR_GET_REASON(error) < SSL_AD_REASON_OFFSET;
}

void redis_tls_why(const void *session, const char *told, char *why, size_t size) {
    unsigned long error = ERR_peek_error();
    const char *reason = error ? ERR_reason_error_string(error) : NULL;
    long verified = SSL_get_verify_result(session);

    if (error && verified != X509_V_OK)
        (void)snprintf(why, size, "the server's certificate is not accepted: %s",
                       X509_verify_cert_error_string(verified));
    else if (reason)
        (void)snprintf(why, size, "TLS: %s%s", reason,
                       is_foreign(session, error) ? "; does the server speak TLS?" : "");
    else if (strcmp(told, strerror(0)) == 0)
        (void)snprintf(why, size, "the connection ended");
    else
        (void)snprintf(why, size, "%s", told);
}

void *redis_tls_start(const struct redis_tls *tls, redisContext *context, char *host, char *why,
                      size_t size) {
    SSL *session;

    ERR_clear_error();
    session = SSL_new(tls->context);
    if (session && expect_host(session, host) &&
        redisInitiateSSL(context, session) == REDIS_OK) /* takes the session */
        return session;
    if (session && context->err)
        redis_tls_why(session, context->errstr, why, size);
    else
        (void)snprintf(why, size, "TLS could not be started");
    SSL_free(session);
    return NULL;
}

#else

int redis_tls_init(struct redis_tls *tls) {
    (void)tls;
    return UV_ENOTSUP;
}

void redis_tls_free(struct redis_tls *tls) {
    (void)tls;
}

void *redis_tls_start(const struct redis_tls *tls, redisContext *context, char *host, char *why,
                      size_t size) {
    (void)tls;
    (void)context;
    (void)host;
    (void)why;
    (void)size;
    return NULL;
}

void redis_tls_forget_errors(void) {
}

bool redis_tls_is_greeted(const void *session) {
    (void)session;
    return false;
}

void redis_tls_why(const void *session, const char *told, char *why, size_t size) {
    (void)session;
    (void)snprintf(why, size, "%s", told);
}

#endif
