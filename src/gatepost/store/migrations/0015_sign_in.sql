-- People who sign in: roles, two-factor authentication, sessions, one-time links, and a log of who did what.
UPDATE users SET role = 'agent' WHERE role = 'member';
ALTER TABLE users
    ADD CONSTRAINT users_role CHECK (role IN ('owner', 'agent', 'reader')),
    ADD COLUMN name           text    NOT NULL DEFAULT '',
    ADD COLUMN totp_secret    bytea,                          -- AES-GCM; NULL: not set up
    ADD COLUMN totp_active    boolean NOT NULL DEFAULT false, -- false: set up, but not confirmed by a code yet
    ADD COLUMN totp_step      bigint  NOT NULL DEFAULT 0,     -- the time step of the last used code
    ADD COLUMN recovery_codes bytea[] NOT NULL DEFAULT '{}';  -- SHA-256 of each unused code
CREATE INDEX users_account ON users (account_id, id);

-- A session that ends is deleted.
CREATE TABLE sessions (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    hash         bytea NOT NULL,            -- SHA-256 of the token
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,      -- exact to a minute; in no index, so that its updates stay cheap
    expires_at   timestamptz NOT NULL,
    address      text NOT NULL,             -- the client's, when the user signed in
    user_agent   text NOT NULL
);
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE INDEX sessions_user ON sessions (user_id, id);

-- A link that is used is deleted.
CREATE TABLE one_time_links (
    hash       bytea PRIMARY KEY,           -- SHA-256 of the token
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('invitation', 'password_reset')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX one_time_links_user ON one_time_links (user_id);

CREATE TABLE account_log (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
    at         timestamptz NOT NULL,
    actor_kind text NOT NULL,               -- user, key or operator
    actor_id   uuid,                        -- without a reference: the entry outlives the actor
    actor      text NOT NULL,               -- e-mail address or key name at that time
    action     text NOT NULL,
    target     text NOT NULL,
    details    jsonb NOT NULL
);
CREATE INDEX account_log_account ON account_log (account_id, id);
