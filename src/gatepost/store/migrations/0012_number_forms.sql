-- Numbers of Brazil, Mexico and Argentina are written in two forms (see model/number_forms.py): the other form of every
-- known number becomes an alias of its contact, unless somebody goes by it already.
INSERT INTO contact_aliases (channel_id, alias, contact_id)
SELECT channel_id, alias, contact_id
FROM (SELECT channel_id, id AS contact_id,
             CASE WHEN phone ~ '^55[1-9][1-9]9[6-9][0-9]{7}$' THEN left(phone, 4) || substr(phone, 6)
                  WHEN phone ~ '^55[1-9][1-9][6-9][0-9]{7}$' THEN left(phone, 4) || '9' || substr(phone, 5)
                  WHEN phone ~ '^521[2-9][0-9]{9}$' THEN '52' || substr(phone, 4)
                  WHEN phone ~ '^52[2-9][0-9]{9}$' THEN '521' || substr(phone, 3)
                  WHEN phone ~ '^549[1-9][0-9]{9}$' THEN '54' || substr(phone, 4)
                  WHEN phone ~ '^54[1-9][0-9]{9}$' THEN '549' || substr(phone, 3)
             END AS alias
      FROM contacts WHERE phone ~ '^5[245]') known
WHERE alias IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM contacts c WHERE c.channel_id = known.channel_id AND c.phone = known.alias)
ON CONFLICT DO NOTHING;
