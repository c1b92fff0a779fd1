-- A team's memories. Whoever runs this owns the tables; `howcome serve` logs in as another role, which owns nothing.
-- That role sees what the principal of a token may see, and only while a transaction has shown that token's key.
-- The server stores a digest of the key: neither a copy of the database nor its log lets anybody in.

CREATE TABLE tenants (
    tenant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    position bigint NOT NULL DEFAULT 0, -- the last one given: who writes holds this row, so positions follow commits
    created timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE principals (
    tenant_id bigint NOT NULL REFERENCES tenants,
    principal_id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    is_admin boolean NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, principal_id),
    UNIQUE (tenant_id, name)
);
CREATE TABLE tokens (
    tenant_id bigint NOT NULL,
    token_id bigint GENERATED ALWAYS AS IDENTITY,
    principal_id bigint NOT NULL,
    digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    hint text NOT NULL,
    may_write boolean NOT NULL,
    repositories text[], -- NULL: all
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    revoked timestamptz,
    last_used timestamptz,
    PRIMARY KEY (tenant_id, token_id),
    FOREIGN KEY (tenant_id, principal_id) REFERENCES principals
);
CREATE TABLE memories (
    tenant_id bigint NOT NULL,
    repository text NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 16),
    position bigint NOT NULL,
    principal_id bigint NOT NULL,
    type text NOT NULL,
    status text NOT NULL,
    origin text NOT NULL,
    created timestamptz NOT NULL,
    stored timestamptz NOT NULL DEFAULT now(),
    supersedes bytea,
    text text NOT NULL,
    is_withdrawn boolean NOT NULL,
    terms text[] NOT NULL, -- no index: behind row security the planner would not use it, and a team's are looked through
    PRIMARY KEY (tenant_id, repository, key), -- another's key is never in the way, so nobody learns that it is there
    UNIQUE (tenant_id, position),
    FOREIGN KEY (tenant_id, principal_id) REFERENCES principals
);
CREATE INDEX memories_position ON memories (tenant_id, repository, position);

-- Who shows a key in this transaction; no row without one, or for one that is unknown, revoked or expired.
CREATE FUNCTION me() RETURNS TABLE (tenant_id bigint, principal_id bigint, is_admin boolean, may_write boolean, repositories text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT token.tenant_id, token.principal_id, principal.is_admin, token.may_write, token.repositories
    FROM howcome_team.tokens token JOIN howcome_team.principals principal USING (tenant_id, principal_id)
    WHERE token.digest = sha256(decode(nullif(current_setting('howcome_team.key', true), ''), 'hex'))
    AND token.revoked IS NULL AND (token.expires IS NULL OR token.expires > now())
$$;
CREATE FUNCTION enter() RETURNS TABLE (team text, person text, may_write boolean, repositories text[], expires timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE given bytea := sha256(decode(nullif(current_setting('howcome_team.key', true), ''), 'hex'));
BEGIN
    UPDATE howcome_team.tokens token SET last_used = now() WHERE token.digest = given AND token.revoked IS NULL
    AND (token.last_used IS NULL OR token.last_used < now() - interval '1 minute');
    RETURN QUERY SELECT tenant.name, principal.name, token.may_write, token.repositories, token.expires
    FROM howcome_team.tokens token JOIN howcome_team.principals principal USING (tenant_id, principal_id)
    JOIN howcome_team.tenants tenant USING (tenant_id) WHERE token.digest = given
    AND token.revoked IS NULL AND (token.expires IS NULL OR token.expires > now());
END $$;
REVOKE ALL ON FUNCTION me(), enter() FROM PUBLIC;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE principals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE memories ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owners ON tenants TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owners ON principals TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owners ON tokens TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owners ON memories TO CURRENT_USER USING (true) WITH CHECK (true);

CREATE POLICY members_read ON tenants FOR SELECT USING (tenant_id = (SELECT me.tenant_id FROM me()));
CREATE POLICY members_count ON tenants FOR UPDATE
    USING (tenant_id = (SELECT me.tenant_id FROM me() WHERE me.may_write))
    WITH CHECK (tenant_id = (SELECT me.tenant_id FROM me() WHERE me.may_write));
CREATE POLICY members_read ON principals FOR SELECT USING (tenant_id = (SELECT me.tenant_id FROM me()));
CREATE POLICY members_read ON memories FOR SELECT USING (
    tenant_id = (SELECT me.tenant_id FROM me())
    AND ((SELECT me.repositories IS NULL FROM me()) OR repository = ANY ((SELECT me.repositories FROM me())::text[]))
);
CREATE POLICY members_add ON memories FOR INSERT WITH CHECK (
    tenant_id = (SELECT me.tenant_id FROM me() WHERE me.may_write)
    AND principal_id = (SELECT me.principal_id FROM me())
    AND ((SELECT me.repositories IS NULL FROM me()) OR repository = ANY ((SELECT me.repositories FROM me())::text[]))
);
CREATE POLICY authors_change ON memories FOR UPDATE USING (
    tenant_id = (SELECT me.tenant_id FROM me() WHERE me.may_write)
    AND (principal_id = (SELECT me.principal_id FROM me()) OR (SELECT me.is_admin FROM me()))
    AND ((SELECT me.repositories IS NULL FROM me()) OR repository = ANY ((SELECT me.repositories FROM me())::text[]))
) WITH CHECK (
    tenant_id = (SELECT me.tenant_id FROM me() WHERE me.may_write)
    AND (principal_id = (SELECT me.principal_id FROM me()) OR (SELECT me.is_admin FROM me()))
    AND ((SELECT me.repositories IS NULL FROM me()) OR repository = ANY ((SELECT me.repositories FROM me())::text[]))
);
