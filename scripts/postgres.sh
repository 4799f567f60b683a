# The Postgres of scripts/stack, and pgbouncer before it, for sourcing. Both refuse to run as root: then they run as the user
# postgres, with their files in that user's folder.
# shellcheck shell=bash disable=SC2154 # passwords come from env

find_postgres() {
    local folders
    mapfile -t folders < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V)
    pg_bin=${PG_BIN:-${folders[-1]}}
    [[ -x $pg_bin/initdb ]] || fail 'Postgres is not installed: install the package postgresql'
    as_postgres=(env -C /)
    ((EUID)) || as_postgres+=(setpriv --reuid=postgres --regid=postgres --init-groups) # it refuses to run as root
}

# The folder of Postgres's data. It is here and belongs to the user postgres; or, if that user cannot come here (a checkout in
# /root), it is in /var/tmp, with a link to it.
make_postgres_home() {
    [[ ! -d $RUN_DIR/postgres ]] || return 0
    rm -f "$RUN_DIR/postgres"
    if "${as_postgres[@]}" test -x "$RUN_DIR"; then
        mkdir "$RUN_DIR/postgres"
    else
        ln -s "$(mktemp -d /var/tmp/sale-postgres-XXXXXX)" "$RUN_DIR/postgres"
    fi
    ((EUID)) || chown postgres: "$RUN_DIR/postgres/"
}

make_cluster() {
    make_postgres_home
    pg_home=$(realpath "$RUN_DIR/postgres")
    "${as_postgres[@]}" test ! -e "$pg_home/data" || return 0
    "${as_postgres[@]}" rm -rf "$pg_home/new"
    # shellcheck disable=SC2016 # $1 is that shell's
    "${as_postgres[@]}" sh -c 'umask 077; cat >"$1"' sh "$pg_home/password" <<<"$POSTGRES_PASSWORD"
    "${as_postgres[@]}" "$pg_bin/initdb" -D "$pg_home/new" -A scram-sha-256 -U postgres --pwfile "$pg_home/password" \
        -E UTF8 --locale C >"$RUN_DIR/initdb.log" 2>&1 || fail "initdb failed: $(tail -n 5 "$RUN_DIR/initdb.log")"
    "${as_postgres[@]}" rm "$pg_home/password"
    "${as_postgres[@]}" mv "$pg_home/new" "$pg_home/data"
}

# After a kill Postgres refuses to start while its old pid exists, even as a zombie.
wait_for_old_postgres() {
    local pid
    { read -r pid <"$pg_home/data/postmaster.pid"; } 2>/dev/null || return 0
    [[ $(stat_of "$pid") != Z* ]] || wait_until 10 is_forgotten "$pid" || true
}

start_postgres() {
    find_postgres
    make_cluster
    wait_for_old_postgres
    start_with NO_SECRETS postgres "${as_postgres[@]}" "$pg_bin/postgres" -D "$pg_home/data" -p "$(port_of postgres)" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=128MB -c max_connections=200
}

# In transaction mode a client has a server connection for one transaction, and may get another one for the next.
write_pgbouncer_conf() {
    local home=$1
    # shellcheck disable=SC2016 # $1 is that shell's
    "${as_postgres[@]}" sh -c 'umask 077; cat >"$1"' sh "$home/pgbouncer.users" \
        <<<"\"inventory_svc\" \"$INVENTORY_SVC_PASSWORD\""
    # shellcheck disable=SC2016
    "${as_postgres[@]}" sh -c 'umask 077; cat >"$1"' sh "$home/pgbouncer.ini" <<CONF
[databases]
* = host=127.0.0.1 port=$(port_of postgres)
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(port_of pgbouncer)
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $home/pgbouncer.users
pool_mode = transaction
default_pool_size = 10
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,options
log_connections = 0
log_disconnections = 0
CONF
}

start_pgbouncer() {
    find_postgres
    make_postgres_home
    write_pgbouncer_conf "$(realpath "$RUN_DIR/postgres")"
    start_with NO_SECRETS pgbouncer "${as_postgres[@]}" /usr/sbin/pgbouncer -q \
        "$(realpath "$RUN_DIR/postgres")/pgbouncer.ini"
}
