-- The table of lockkit's postgres:// backends. It is made at first use by whoever may create tables;
-- else run this once in a schema of the search_path, and grant SELECT, INSERT, UPDATE on it.
-- A row stays for ever, since the fencing token of its name must never fall: release empties it.
CREATE TABLE IF NOT EXISTS lockkit_lock (
    name text PRIMARY KEY,
    fence bigint NOT NULL,                          -- of the last grant, the greatest that is reserved with it
    owner text,                                     -- of the last exclusive grant; of mode=table NULL when free
    label text NOT NULL DEFAULT '',                 -- who that is, for people
    until timestamptz NOT NULL DEFAULT '-infinity', -- mode=table: when it ends, by this server's clock
    key bigint UNIQUE                               -- mode=session: of the advisory lock, of this name alone
) WITH (fillfactor = 50);
