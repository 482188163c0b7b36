-- Whoever follows the log goes by numbers that grow over all sessions: block is that of the last event of a batch that
-- is no delta, and stands for all events of its session since the block before. Deltas alone have none.
ALTER TABLE events ADD COLUMN block INTEGER;
-- What the last event of a batch was appended with: whoever appends it again is told that it is there.
ALTER TABLE events ADD COLUMN nonce BLOB;
UPDATE events SET block = place >> 40 WHERE place IN (
    SELECT (SELECT place FROM events WHERE place BETWEEN key << 40 AND (key + 1 << 40) - 1 AND growth <> 1
            ORDER BY place DESC LIMIT 1)
    FROM sessions
);
CREATE UNIQUE INDEX events_by_block ON events (block) WHERE block IS NOT NULL;

-- What has a number and no event: rows that changed without one, sessions that went.
CREATE TABLE notices (
    number  INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    what    INTEGER NOT NULL, -- 0 row, 1 forgotten, 2 erased
    agent   TEXT,             -- of an erased conversation, as its native
    native  TEXT
) STRICT;
INSERT INTO notices
    SELECT (SELECT coalesce(max(key), 0) FROM sessions) + row_number() OVER (ORDER BY native, agent),
           zeroblob(16), 2, agent, native FROM erased;

-- How far the journal of a catalog was followed that is not this file.
CREATE TABLE followed (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL) STRICT;

-- Small texts under names. AUTOINCREMENT: a revision never comes again.
CREATE TABLE keys (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    key      TEXT NOT NULL UNIQUE,
    value    TEXT NOT NULL,
    until    INTEGER -- when it has grown too old
) STRICT;
INSERT INTO keys (key, value)
    SELECT 'device/' || lower(hex(id)), json_object('hash', lower(hex(hash)), 'device', json(device))
    FROM devices ORDER BY id;
INSERT INTO keys (key, value)
    SELECT 'push/' || lower(hex(endpoint)),
           json_object('device', iif(device IS NULL, NULL, lower(hex(device))), 'subscription', json(subscription))
    FROM pushes ORDER BY endpoint;
DROP TABLE devices;
DROP TABLE pushes;
