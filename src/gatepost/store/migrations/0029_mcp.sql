-- Assistants: the policy of each key, the log of its calls, what it has read, and the conversations that people took over.
ALTER TABLE accounts ADD COLUMN mcp_stopped_at timestamptz;  -- NULL: keys with the scope mcp may be used
ALTER TABLE accounts ADD COLUMN mcp_stopped_by text;

CREATE TABLE mcp_policies (
    key_id     uuid PRIMARY KEY REFERENCES api_keys ON DELETE CASCADE,
    channel_id uuid NOT NULL,
    policy     text NOT NULL,              -- JSON; without a row, the defaults apply
    updated_at timestamptz NOT NULL,
    updated_by text NOT NULL               -- e-mail address, or operator
);

CREATE TABLE mcp_calls (
    channel_id  uuid NOT NULL,
    id          uuid NOT NULL,
    key_id      uuid NOT NULL,
    at          timestamptz NOT NULL,
    client      text NOT NULL,
    transport   text NOT NULL,             -- http | stdio
    tool        text NOT NULL,
    arguments   text NOT NULL,             -- JSON, shortened
    outcome     text NOT NULL,             -- done | sent | draft | dry_run | repeated | refused | failed
    rule        text,
    code        text,
    contact_id  uuid,
    ids         text[] NOT NULL,           -- what the call made
    fingerprint bytea,                     -- of the key, the tool and the arguments; NULL: a repetition is a new call
    answer      text,                      -- JSON, for repetitions
    PRIMARY KEY (channel_id, id)
);
-- Pages of the log. Most calls are reads that are done.
CREATE INDEX mcp_calls_key ON mcp_calls (channel_id, key_id, id);
CREATE INDEX mcp_calls_tool ON mcp_calls (channel_id, tool, id);
CREATE INDEX mcp_calls_outcome ON mcp_calls (channel_id, outcome, id) WHERE outcome <> 'done';
CREATE INDEX mcp_calls_contact ON mcp_calls (channel_id, contact_id, id) WHERE contact_id IS NOT NULL;
CREATE INDEX mcp_calls_at ON mcp_calls (at);  -- retention
-- The limits of a key, and repeated calls. Each of these rows is one message or draft of the key.
CREATE INDEX mcp_calls_writes ON mcp_calls (key_id, at) WHERE outcome IN ('sent', 'draft');
CREATE INDEX mcp_calls_person ON mcp_calls (key_id, contact_id, at) WHERE outcome IN ('sent', 'draft');
CREATE INDEX mcp_calls_same ON mcp_calls (key_id, fingerprint, at)
    WHERE outcome IN ('sent', 'draft') AND fingerprint IS NOT NULL;

-- The conversations that the answer of a call revealed, for an hour. Rows are only added, so that a reader never waits.
CREATE TABLE mcp_reads (
    channel_id uuid NOT NULL,
    call_id    uuid NOT NULL,
    contact_id uuid NOT NULL,
    key_id     uuid NOT NULL,
    read_at    timestamptz NOT NULL,
    PRIMARY KEY (channel_id, call_id, contact_id)
);
CREATE INDEX mcp_reads_key ON mcp_reads (channel_id, key_id, read_at, contact_id);
CREATE INDEX mcp_reads_contact ON mcp_reads (channel_id, contact_id);
CREATE INDEX mcp_reads_at ON mcp_reads (read_at);

CREATE TABLE mcp_handovers (
    channel_id uuid NOT NULL,
    contact_id uuid NOT NULL,
    key_id     uuid NOT NULL,
    reason     text NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (channel_id, contact_id, key_id)
);

-- Messages that a person has to approve.
CREATE TABLE drafts (
    channel_id    uuid NOT NULL,
    id            uuid NOT NULL,
    contact_id    uuid,                    -- NULL: there was no contact with this number
    phone         text COLLATE "C" NOT NULL, -- as in contacts, so that the index is used
    body          text NOT NULL,           -- the send request, JSON
    state         text NOT NULL,           -- waiting | sent | refused | expired
    created_by    text NOT NULL,           -- as model/sender.py writes it; so are edited_by and decided_by
    key_id        uuid,                    -- of the assistant
    rule          text,
    reason        text,
    revision      int NOT NULL,
    created_at    timestamptz NOT NULL,
    edited_at     timestamptz,
    edited_by     text,
    expires_at    timestamptz NOT NULL,
    decided_at    timestamptz,
    decided_by    text,
    comment       text,
    message_id    uuid,
    seen_event_id uuid NOT NULL,           -- the channel's last event when it was made or edited
    PRIMARY KEY (channel_id, id)
);
CREATE INDEX drafts_state ON drafts (channel_id, state, id);
CREATE INDEX drafts_contact ON drafts (channel_id, contact_id, id) WHERE contact_id IS NOT NULL;
CREATE INDEX drafts_phone ON drafts (channel_id, phone, id) WHERE contact_id IS NULL;
CREATE INDEX drafts_waiting ON drafts (expires_at) WHERE state = 'waiting';
CREATE INDEX drafts_created ON drafts (created_at);  -- retention

-- Open pages read them again (0025). A call is one row of a batch: one notification for all of them.
CREATE FUNCTION notify_channel_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('gatepost_account',
                      jsonb_build_object('resource', TG_ARGV[0], 'channel_id', r.channel_id)::text)
    FROM (SELECT DISTINCT channel_id FROM new_rows) r;
    RETURN NULL;
END $$;
CREATE TRIGGER account_changed AFTER INSERT ON mcp_calls REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_channel_rows('mcp_calls');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE ON drafts
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('drafts', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON mcp_policies
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('mcp_policies', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON mcp_handovers
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('mcp_handovers', 'channel_id', 'channel_id');
