-- When it was last changed whether a person wants marketing: by the person, at the time that the network states, or by
-- people here. Reports of the network may arrive late or twice, and an older one must not undo a newer one.
CREATE TABLE contact_preferences (
    channel_id uuid        NOT NULL,
    contact_id uuid        NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, contact_id)
);
