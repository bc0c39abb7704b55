-- Arguments that are secret stand on the record as a digest with a key: equal ones are seen to be equal, and whoever has the record, or
-- an export of it, cannot try out guesses. The key is this database's own, random, and read by nobody but the function that uses it.
-- depends: 0011_operator

CREATE TABLE interlock.secret_key (
    key bytea NOT NULL CHECK (length(key) = 32),
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

INSERT INTO interlock.secret_key (key) VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- HMAC-SHA-256 (RFC 2104), in lower-case hex.
CREATE FUNCTION interlock.keyed_digest(value text) RETURNS text
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    inner_pad bytea;
    outer_pad bytea;
BEGIN
    SELECT key || decode(repeat('00', 32), 'hex') INTO STRICT inner_pad FROM interlock.secret_key;
    outer_pad := inner_pad;
    FOR place IN 0..63 LOOP
        outer_pad := set_byte(outer_pad, place, get_byte(inner_pad, place) # 92);
        inner_pad := set_byte(inner_pad, place, get_byte(inner_pad, place) # 54);
    END LOOP;
    RETURN encode(sha256(outer_pad || sha256(inner_pad || convert_to(value, 'UTF8'))), 'hex');
END $$;
