-- A database whose tables of ours were emptied goes on from the checkpoints alone. A key that was lost with them is made anew; digests
-- from before tell nothing of later ones then.
-- depends: 0025_settled

CREATE OR REPLACE FUNCTION interlock.keyed_digest(value text) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    inner_pad bytea;
    outer_pad bytea;
BEGIN
    IF NOT EXISTS (SELECT FROM interlock.secret_key) THEN
        INSERT INTO interlock.secret_key (key) VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())))
        ON CONFLICT DO NOTHING;
    END IF;
    SELECT key || decode(repeat('00', 32), 'hex') INTO STRICT inner_pad FROM interlock.secret_key;
    outer_pad := inner_pad;
    FOR place IN 0..63 LOOP
        outer_pad := set_byte(outer_pad, place, get_byte(inner_pad, place) # 92);
        inner_pad := set_byte(inner_pad, place, get_byte(inner_pad, place) # 54);
    END LOOP;
    RETURN encode(sha256(outer_pad || sha256(inner_pad || convert_to(value, 'UTF8'))), 'hex');
END $$;
