-- The name of the cell that this database is (docs/how-to/use-several-databases.md); no row: it is the only database.
CREATE TABLE cell (
    id         int         PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    name       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
