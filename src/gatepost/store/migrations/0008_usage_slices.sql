-- A channel counts its messages down from a slice of the month, in its own head, so that the channels of an account do
-- not wait for one another. `account_usage.used` holds what was granted; what the heads still hold of it is unused.
-- A node of before counts each message in `used` by itself, which stays right beside it.
ALTER TABLE channel_heads
    ADD COLUMN slice_month date,                     -- the month that the slice is of
    ADD COLUMN slice_limit bigint,                   -- the plan's limit under which it was granted
    ADD COLUMN slice_left  bigint NOT NULL DEFAULT 0;

ALTER TABLE account_usage
    ADD COLUMN granted     bigint NOT NULL DEFAULT 0, -- the size of the newest slice
    ADD COLUMN slices      bigint NOT NULL DEFAULT 0, -- how many slices were granted
    ADD COLUMN reclaimed   bigint NOT NULL DEFAULT 0; -- the rests of the first so many were used or taken back
