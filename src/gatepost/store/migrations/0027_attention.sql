-- Templates that need a person, which every list of channels counts. They are few, and a channel may have thousands.
CREATE INDEX templates_attention ON templates (channel_id) WHERE status IN ('REJECTED', 'PAUSED', 'DISABLED');
