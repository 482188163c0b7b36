-- A session has a small number, its key. The place of an event is key << 40 | seq: one integer that is the row's
-- own address, so that a session's events lie side by side in order and no second index is written for them.

-- AUTOINCREMENT: the key of a forgotten session never means another one.
CREATE TABLE sessions (
    key          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL UNIQUE,
    dropped      INTEGER NOT NULL DEFAULT 0, -- events that compaction took
    compacted_to INTEGER NOT NULL DEFAULT 0, -- the last turn's end that compaction has seen
    left_from    INTEGER NOT NULL DEFAULT 0, -- up to here nothing is left that could go
    updated_at   INTEGER,                    -- from here on: columns that lists select by, all out of info
    status       TEXT,
    agent        TEXT,
    archived     INTEGER,
    native       TEXT,
    unfinished   INTEGER,
    haystack     TEXT,
    info         TEXT
) STRICT;
CREATE INDEX sessions_by_change ON sessions (updated_at DESC, id) WHERE info IS NOT NULL;
CREATE INDEX sessions_by_native ON sessions (native, agent) WHERE native IS NOT NULL;
CREATE INDEX sessions_unfinished ON sessions (unfinished) WHERE unfinished = 1;

-- json is what clients get, byte for byte. The columns before it serve compaction and search, which decode nothing.
CREATE TABLE events (
    place    INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    growth   INTEGER NOT NULL, -- 0 fact, 1 delta, 2 final
    findable INTEGER NOT NULL, -- 1: its text is in the index
    item     BLOB,
    turn     BLOB,
    json     TEXT NOT NULL
) STRICT;

-- The agents' own frames, most of the bytes: compressed blocks of neighbouring events.
CREATE TABLE raw_blocks (
    first INTEGER PRIMARY KEY, -- place of the first event with a frame in it
    last  INTEGER NOT NULL,    -- place of the last one
    size  INTEGER NOT NULL,    -- bytes before compression
    block BLOB NOT NULL
) STRICT;

CREATE TABLE turns (
    session INTEGER NOT NULL,
    turn    BLOB NOT NULL,
    ended   INTEGER NOT NULL, -- seq
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE asks (
    id      BLOB PRIMARY KEY,
    session INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX asks_by_session ON asks (session);

-- Sessions whose row is gone and whose events still go, piece by piece.
CREATE TABLE forgotten (key INTEGER PRIMARY KEY) STRICT;

-- The index has no text of its own: it reads the event's through this view, for snippets and when a row goes. It
-- cannot drift, since events never change. A NUL would end the text for SQLite, so it becomes a mark.
CREATE VIEW searchable (place, text) AS
    SELECT place, substr(concat_ws(char(10), text, nullif(command, text)), 1, 262144) FROM (
        SELECT place,
               json_extract(replace(json, '\u0000', '\ufffd'), '$.text') AS text,
               json_extract(replace(json, '\u0000', '\ufffd'), '$.payload.command') AS command
        FROM events WHERE findable = 1
    );
CREATE VIRTUAL TABLE search USING fts5 (
    text, content = 'searchable', content_rowid = 'place', tokenize = 'unicode61 remove_diacritics 2'
);
