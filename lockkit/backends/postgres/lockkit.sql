-- The table of lockkit's postgres:// backends. The first client that may create tables makes it.
-- Else run this once in a schema of the search_path, and grant SELECT, INSERT, UPDATE on it.
-- Release empties a row, which stays for ever: the fencing token of its name must never fall.
CREATE TABLE IF NOT EXISTS lockkit_lock (
    name text PRIMARY KEY,
    fence bigint NOT NULL,                          -- of the last grant: the greatest token reserved with it
    owner text,                                     -- of the last exclusive grant; mode=table: NULL when free
    label text NOT NULL DEFAULT '',                 -- the name of the owner, for people
    until timestamptz NOT NULL DEFAULT '-infinity', -- mode=table: when it ends, by this server's clock
    key bigint UNIQUE                               -- mode=session: the key of the name's advisory lock
) WITH (fillfactor = 50);
