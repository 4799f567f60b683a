/* TLS to Redis, through hiredis 1.0 or later and OpenSSL; the Makefile defines UVKIT_REDIS_TLS
 * where both are there.
 *
 * The server has to prove, by a certificate that the system trusts (or SSL_CERT_FILE and
 * SSL_CERT_DIR name), that it is the host of the URL. hiredis' own way to make a session checks no
 * host names, so the session is made here. */
#include "redis_internal.h"

#include <stdio.h>

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

int redis_tls_start(const struct redis_tls *tls, redisContext *context, char *host) {
    SSL *session;

    ERR_clear_error();
    session = SSL_new(tls->context);
    if (session && expect_host(session, host) &&
        redisInitiateSSL(context, session) == REDIS_OK) /* takes the session */
        return 0;
    SSL_free(session);
    return UV_EIO;
}

#else

int redis_tls_init(struct redis_tls *tls) {
    (void)tls;
    return UV_ENOTSUP;
}

void redis_tls_free(struct redis_tls *tls) {
    (void)tls;
}

int redis_tls_start(const struct redis_tls *tls, redisContext *context, char *host) {
    (void)tls;
    (void)context;
    (void)host;
    return UV_ENOTSUP;
}

#endif
