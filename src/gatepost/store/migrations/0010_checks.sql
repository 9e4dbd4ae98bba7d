-- One row that is written now and then, to know that writes work.
CREATE TABLE write_check (
    id         smallint    PRIMARY KEY CHECK (id = 1),
    checked_at timestamptz NOT NULL
);
INSERT INTO write_check VALUES (1, now());

-- One known text, encrypted with the secret key: tells at start whether the key at hand is the right one.
CREATE TABLE key_check (
    id         smallint    PRIMARY KEY CHECK (id = 1),
    sealed     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Linked devices of deleted channels: the process that held the link may write rows of theirs for a moment longer.
CREATE TABLE forgotten_devices (
    device     text        PRIMARY KEY,
    deleted_at timestamptz NOT NULL DEFAULT now()
);
