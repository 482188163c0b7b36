-- Sessions of which a restart of the hub cut a turn, and nobody has said anything since.
ALTER TABLE sessions ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_cut ON sessions (cut) WHERE cut = 1;

-- Conversations that somebody erased. Their agents may remember them; they are not to be found there again.
CREATE TABLE erased (
    agent  TEXT NOT NULL,
    native TEXT NOT NULL,
    PRIMARY KEY (native, agent)
) STRICT, WITHOUT ROWID;

-- What json was when it was written, so that harm is noticed; NULL for events from before.
ALTER TABLE events ADD COLUMN sum INTEGER;
