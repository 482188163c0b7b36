-- Paired clients. A token is known by its SHA-256 alone.
CREATE TABLE devices (
    id     BLOB PRIMARY KEY,
    hash   BLOB NOT NULL UNIQUE,
    device TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Where browsers want to be woken; device is NULL for one that has the owner's token.
CREATE TABLE pushes (
    endpoint     TEXT PRIMARY KEY,
    device       BLOB,
    subscription TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What was used since a day is asked by the moment at which turns ended.
CREATE INDEX turns_by_end ON turns (at);
