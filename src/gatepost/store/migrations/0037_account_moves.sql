-- Accounts that are being moved to another cell (`store/moves`), in both cells: from where or to where, and how far.
CREATE TABLE account_moves (
    account_id uuid        PRIMARY KEY,
    direction  text        NOT NULL CHECK (direction IN ('out', 'in')),
    cell       text        NOT NULL,                -- the other cell
    state      text        NOT NULL,
    channels   uuid[]      NOT NULL DEFAULT '{}',
    heads      jsonb,                               -- out: the heads of the channels, which nobody can write now
    snapshot   text,                                -- in: what the copy has
    position   pg_lsn,                              -- in: the changes up to here have been applied
    started_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now()
);
