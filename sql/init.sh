#!/bin/bash -p
# init.sh: make the roles and the two databases, or bring them up to date; may be run again.
# A superuser runs it, named by libpq's PGHOST, PGPORT, PGUSER and PGPASSWORD; in the postgres image it also works from
# /docker-entrypoint-initdb.d. Environment: ORDER_SVC_PASSWORD, INVENTORY_SVC_PASSWORD, LOADGEN_PASSWORD, and SQL_DIR
# when the .sql files do not lie beside it. Passwords go through the environment: an argument would show in `ps`.
set -euo pipefail

: "${ORDER_SVC_PASSWORD:?}" "${INVENTORY_SVC_PASSWORD:?}" "${LOADGEN_PASSWORD:?}"
sql_dir=${SQL_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
export PGUSER=${PGUSER:-${POSTGRES_USER:-postgres}} PGOPTIONS='-c client_min_messages=warning -c search_path=public -c statement_timeout=0 -c lock_timeout=0'

psql_in() { # psql_in DATABASE [OPTION...]
    psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname "$@"
}

psql_in postgres <<'SQL'
SELECT format('CREATE ROLE %I', name) FROM unnest(ARRAY['order_svc', 'inventory_svc', 'loadgen']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

\getenv order_svc_password ORDER_SVC_PASSWORD
\getenv inventory_svc_password INVENTORY_SVC_PASSWORD
\getenv loadgen_password LOADGEN_PASSWORD
ALTER ROLE order_svc LOGIN PASSWORD :'order_svc_password';
ALTER ROLE inventory_svc LOGIN PASSWORD :'inventory_svc_password';
ALTER ROLE loadgen LOGIN PASSWORD :'loadgen_password';

SELECT format('CREATE DATABASE %I TEMPLATE template0 ENCODING ''UTF8'' LOCALE ''C''', name)
FROM unnest(ARRAY['orders', 'inventory']) name
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name) \gexec

-- Each service reaches its own database and no other, not even an empty one.
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', datname) FROM pg_database \gexec
GRANT CONNECT ON DATABASE orders TO order_svc, loadgen;
GRANT CONNECT ON DATABASE inventory TO inventory_svc, loadgen;
SQL
psql_in orders --file "$sql_dir/orders.sql" --single-transaction
psql_in inventory --file "$sql_dir/inventory.sql" --single-transaction
