-- The views of the inbox that a user keeps, as model/saved_view.py describes them. Null: none. A column without a
-- default changes the catalog only.
ALTER TABLE users ADD COLUMN saved_views jsonb;
