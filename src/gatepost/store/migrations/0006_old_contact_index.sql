-- Its successor is there, by contact first.
DROP INDEX messages_contact;
