-- What was added to the first tables, and is made in an older file when it is opened.
CREATE TABLE IF NOT EXISTS finished (
    run INTEGER NOT NULL, part INTEGER NOT NULL, fingerprint BLOB NOT NULL, calls BLOB NOT NULL, keys BLOB NOT NULL,
    PRIMARY KEY (run, part)
);
CREATE TABLE IF NOT EXISTS details (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, thinking NOT NULL, category TEXT NOT NULL,
    cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sittings (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, started REAL NOT NULL, engine TEXT NOT NULL, prices TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS profiles (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, at REAL NOT NULL, profile TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS evidence (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, facts INTEGER NOT NULL, request TEXT NOT NULL,
    written_tokens INTEGER NOT NULL, cost REAL
);
CREATE TABLE IF NOT EXISTS controls (
    run INTEGER PRIMARY KEY, asked TEXT NOT NULL, number INTEGER NOT NULL, heeded INTEGER NOT NULL
);
