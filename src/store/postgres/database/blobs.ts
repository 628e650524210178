/** The tables of blobs and of what no collection may remove. */

export const blobTables = (schema: string): string => `
-- Numbers collections and the ends of holds, in one order.
CREATE SEQUENCE ${schema}.holds;

CREATE TABLE ${schema}.blobs (
  sha256 bytea PRIMARY KEY,
  content bytea NOT NULL,
  held bigint NOT NULL DEFAULT 0
);
-- Not compressed: media are, and pieces of a large blob are read without the rest.
ALTER TABLE ${schema}.blobs ALTER COLUMN content SET STORAGE EXTERNAL;

-- An empty digest holds all blobs.
CREATE TABLE ${schema}.blob_holds (
  process text COLLATE "C" NOT NULL,
  hold bigint NOT NULL,
  sha256 bytea NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (process, hold, sha256)
);
CREATE INDEX blob_holds_sha256 ON ${schema}.blob_holds (sha256);

CREATE FUNCTION ${schema}.hold_blobs(p_process text, p_hold bigint, p_digests bytea[]) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '30s' AS $$
BEGIN
  -- After a removal under way, which would not see the hold.
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('turnlog ${schema}', 3));
  INSERT INTO ${schema}.blob_holds (process, hold, sha256, until)
  SELECT p_process, p_hold, d, clock_timestamp() + interval '1 day' FROM unnest(p_digests) AS t (d)
  ON CONFLICT DO NOTHING;
END
$$;

-- Ends one hold of a process, or all. Collections that began before spare its blobs: they may have read the
-- log before the event that uses the blob.
CREATE FUNCTION ${schema}.release_blobs(p_process text, p_hold bigint) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '30s' AS $$
DECLARE
  v_digests bytea[];
BEGIN
  SELECT array_agg(sha256) INTO v_digests FROM ${schema}.blob_holds
  WHERE process = p_process AND (p_hold IS NULL OR hold = p_hold);
  PERFORM 1 FROM ${schema}.blobs WHERE sha256 = ANY (v_digests) ORDER BY sha256 FOR NO KEY UPDATE;
  UPDATE ${schema}.blobs SET held = nextval('${schema}.holds') WHERE sha256 = ANY (v_digests);
  DELETE FROM ${schema}.blob_holds WHERE process = p_process AND (p_hold IS NULL OR hold = p_hold);
END
$$;

CREATE FUNCTION ${schema}.remove_blobs(p_start bigint, p_digests bytea[])
RETURNS TABLE (sha256 bytea, bytes bigint) LANGUAGE plpgsql SET lock_timeout = '30s' AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('turnlog ${schema}', 3));
  DELETE FROM ${schema}.blob_holds h WHERE h.until < clock_timestamp();
  RETURN QUERY DELETE FROM ${schema}.blobs b
  WHERE b.sha256 = ANY (p_digests) AND b.held < p_start AND NOT EXISTS (
    SELECT 1 FROM ${schema}.blob_holds h WHERE h.sha256 = b.sha256 OR h.sha256 = ''
  ) RETURNING b.sha256, length(b.content)::bigint;
END
$$;
`;
