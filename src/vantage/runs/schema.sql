-- The first tables of a run store. A change is a statement in later.sql.
CREATE TABLE texts (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, body NOT NULL);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, run INTEGER NOT NULL, at REAL NOT NULL,
    context INTEGER NOT NULL, messages TEXT NOT NULL, item TEXT, question TEXT,
    sample INTEGER NOT NULL, attempt INTEGER NOT NULL, seed INTEGER,
    finish TEXT NOT NULL, reply NOT NULL, scores BLOB,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, tries INTEGER NOT NULL, milliseconds INTEGER,
    checksum INTEGER NOT NULL
);
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, run INTEGER NOT NULL, at REAL NOT NULL,
    context INTEGER NOT NULL, messages TEXT NOT NULL, item TEXT, question TEXT,
    sample INTEGER NOT NULL, attempt INTEGER NOT NULL, seed INTEGER,
    error TEXT NOT NULL, tries INTEGER NOT NULL, milliseconds INTEGER, checksum INTEGER NOT NULL
);
CREATE INDEX failures_by_key ON failures (key);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, started REAL NOT NULL, changed REAL NOT NULL,
    plan TEXT NOT NULL, state TEXT NOT NULL, summary TEXT NOT NULL
);
CREATE TABLE uses (run INTEGER NOT NULL, call INTEGER NOT NULL, PRIMARY KEY (run, call)) WITHOUT ROWID;
CREATE TABLE claims (key BLOB PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE batches (
    id INTEGER PRIMARY KEY, token TEXT NOT NULL, protocol TEXT NOT NULL, host TEXT NOT NULL, name TEXT NOT NULL,
    state TEXT NOT NULL, at REAL NOT NULL, size INTEGER NOT NULL
);
CREATE TABLE batched (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, batch INTEGER NOT NULL, tries INTEGER NOT NULL
);
CREATE INDEX batched_by_batch ON batched (batch);
