-- The search index on a PostgreSQL server: derived of the log, made anew by whoever finds another format.
-- A vector's lexemes are PROJECT:TERM, so no query finds another project's rows, and its one position says how often.

CREATE SCHEMA IF NOT EXISTS howcome_search_1;

-- How far it is, and of which log.
CREATE TABLE IF NOT EXISTS state (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), last bigint NOT NULL, mark text NOT NULL);

-- How many documents a project has, and how many words each field of them.
CREATE TABLE IF NOT EXISTS projects (
    project_id bigint PRIMARY KEY,
    events bigint NOT NULL, exchanges bigint NOT NULL,
    text bigint NOT NULL, names bigint NOT NULL, said bigint NOT NULL, did bigint NOT NULL
);

-- How many documents hold each term.
CREATE TABLE IF NOT EXISTS terms (
    project_id bigint NOT NULL, field text COLLATE "C" NOT NULL, term text COLLATE "C" NOT NULL, documents bigint NOT NULL,
    PRIMARY KEY (project_id, field, term)
);
CREATE INDEX IF NOT EXISTS terms_reversed ON terms (project_id, reverse(term) COLLATE "C") WHERE field = 'text';

-- Vectors stay in the row as long as it fits its page: each is looked into for its score.
CREATE TABLE IF NOT EXISTS events (
    row bigint PRIMARY KEY, project_id bigint NOT NULL, session_id bigint NOT NULL, exchange bigint NOT NULL,
    ts_ms bigint NOT NULL, kind smallint NOT NULL, origin smallint NOT NULL,
    text_length int NOT NULL, names_length int NOT NULL, text tsvector NOT NULL, names tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
CREATE INDEX IF NOT EXISTS events_text ON events USING gin (text);
CREATE INDEX IF NOT EXISTS events_names ON events USING gin (names);

CREATE TABLE IF NOT EXISTS exchanges (
    row bigint PRIMARY KEY, project_id bigint NOT NULL, session_id bigint NOT NULL, exchange bigint NOT NULL,
    ts_ms bigint NOT NULL, kind smallint NOT NULL, origin smallint NOT NULL,
    said_length int NOT NULL, did_length int NOT NULL, said tsvector NOT NULL, did tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
CREATE INDEX IF NOT EXISTS exchanges_said ON exchanges USING gin (said);
CREATE INDEX IF NOT EXISTS exchanges_did ON exchanges USING gin (did);

-- Vectors of turns: of each model how far they are, and how many. Its table is vectors_ID, made by its writer:
-- pgvector's type where the server has that (`extension` is the schema of its types), else bytes.
CREATE TABLE IF NOT EXISTS vector_models (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, model text NOT NULL UNIQUE, dimensions int NOT NULL,
    extension text NOT NULL, last bigint NOT NULL DEFAULT 0, mark text NOT NULL DEFAULT '', vectors bigint NOT NULL DEFAULT 0
);
