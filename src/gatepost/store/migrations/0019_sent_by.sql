-- Who sent an outgoing message, as model/sender.py writes it. Null: accepted before this version. A column without a
-- default changes the catalog only.
ALTER TABLE messages ADD COLUMN sent_by text;
