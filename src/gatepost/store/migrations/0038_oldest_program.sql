-- Which programs can use this database: those that know the migration `level` or a newer one (`store/migrate.py`).
-- A migration that programs of the level before it cannot work with sets it to its own number.
CREATE TABLE oldest_program (
    id    int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    level int NOT NULL
);
INSERT INTO oldest_program (level) VALUES (32);
