/** The functions that append events, and give them their places in the global order. */

export const appendFunctions = (schema: string): string => `
-- The first of a block of global positions. The shared lock is held until the commit: see horizon(). A
-- subtransaction that ends with an error releases its own lock at once; the sequence keeps its value.
CREATE FUNCTION ${schema}.positions_for(p_count bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_first bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('turnlog ${schema}', 0));
  IF p_count = 0 THEN RETURN NULL; END IF;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('turnlog ${schema}', 2));
    v_first := nextval('${schema}.positions');
    PERFORM setval('${schema}.positions', v_first + p_count - 1);
    RAISE EXCEPTION USING ERRCODE = 'TLPOS';
  EXCEPTION WHEN SQLSTATE 'TLPOS' THEN NULL;
  END;
  RETURN v_first;
END
$$;

-- The runs of a row of batches.
CREATE FUNCTION ${schema}.runs_in(p_position bigint, p_shares text)
RETURNS TABLE ("position" bigint, session bigint, first bigint, count bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT r.position, r.fields[1]::bigint, r.fields[2]::bigint, r.count FROM (
    SELECT p_position + (sum(e.count) OVER (ORDER BY e.n))::bigint - e.count AS position, e.count, e.fields
    FROM (
      SELECT n, string_to_array(share, ',') AS fields,
        CASE WHEN share LIKE '+%' THEN share ELSE coalesce((string_to_array(share, ','))[3], '1') END::bigint AS count
      FROM string_to_table(p_shares, ';') WITH ORDINALITY AS t (share, n)
    ) AS e
  ) AS r WHERE cardinality(r.fields) > 1
$$;

-- The next runs from a position on, up to 512 positions from the first of them, cut to that range.
CREATE FUNCTION ${schema}.runs_from(p_from bigint, p_to bigint)
RETURNS TABLE ("position" bigint, session bigint, first bigint, count bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  v_from bigint := p_from;
  v_to bigint;
BEGIN
  LOOP
    -- No row reaches further than 2,048 positions.
    v_from := (
      SELECT greatest(position, v_from) FROM ${schema}.batches
      WHERE position > v_from - 2048 AND last >= v_from ORDER BY position LIMIT 1
    );
    v_to := least(p_to, v_from + 511);
    RETURN QUERY SELECT greatest(r.position, v_from), r.session, r.first + greatest(0, v_from - r.position),
      least(r.position + r.count - 1, v_to) - greatest(r.position, v_from) + 1
    FROM ${schema}.batches b, LATERAL ${schema}.runs_in(b.position, b.shares) AS r
    WHERE b.position > v_from - 2048 AND b.position <= v_to AND b.last >= v_from
      AND r.position <= v_to AND r.position + r.count > v_from
    ORDER BY 1;
    EXIT WHEN FOUND OR v_from IS NULL OR v_to = p_to;
    v_from := v_to + 1;
  END LOOP;
END
$$;

-- Names an append in the global order. A process's small appends join the row of its last one, \`p_row\`. Answers the
-- position of their row. Large ones are split, so that no row reaches far.
CREATE FUNCTION ${schema}.note_runs(
  p_row bigint, p_first bigint, p_count bigint, p_numbers bigint[], p_bases bigint[], p_revisions bigint[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_last bigint := p_first + p_count - 1;
  v_shares text;
BEGIN
  IF p_count <= 1024 THEN
    SELECT string_agg(number || ',' || base + 1 || CASE revision - base WHEN 1 THEN '' ELSE ',' || revision - base END, ';' ORDER BY n)
    INTO v_shares
    FROM unnest(p_numbers, p_bases, p_revisions) WITH ORDINALITY AS t (number, base, revision, n)
    WHERE number IS NOT NULL;
    IF p_row > 0 AND length(v_shares) < 500 THEN
      UPDATE ${schema}.batches
      SET last = v_last, shares = shares || CASE p_first - last WHEN 1 THEN ';' ELSE ';+' || p_first - last - 1 || ';' END || v_shares
      WHERE position = p_row AND p_first > last AND v_last < position + 1024 AND length(shares) + length(v_shares) <= 500;
      IF FOUND THEN RETURN p_row; END IF;
    END IF;
    INSERT INTO ${schema}.batches VALUES (p_first, v_last, v_shares);
    RETURN p_first;
  END IF;
  INSERT INTO ${schema}.batches (position, last, shares)
  SELECT p_first + min(before), p_first + max(before + count) - 1,
    string_agg(number || ',' || first || CASE count WHEN 1 THEN '' ELSE ',' || count END, ';' ORDER BY before)
  FROM (
    SELECT number, first, count, (sum(count) OVER (ORDER BY n, first))::bigint - count AS before
    FROM (
      SELECT n, number, base + 1 + part AS first, least(256, revision - base - part) AS count
      FROM unnest(p_numbers, p_bases, p_revisions) WITH ORDINALITY AS t (number, base, revision, n),
        LATERAL generate_series(0, revision - base - 1, 256) AS part
      WHERE number IS NOT NULL
    ) AS parts
  ) AS shares
  GROUP BY before / 1024;
  RETURN p_first;
END
$$;

-- Appends of many sessions: for each, all its rows or none. The update locks and compares in one: an append that waited
-- for another sees what that committed. Sessions are locked in the order of the arrays, by nested loops over an index.
-- p_closed: sessions whose open row ends. It moves to the events, or the appended rows contain it (p_moves).
CREATE FUNCTION ${schema}.append(
  p_ids text[], p_bases bigint[], p_epochs bigint[], p_revisions bigint[],
  p_created double precision[], p_updated double precision[],
  p_row_sessions int[], p_row_positions bigint[], p_lines text,
  p_closed int[], p_moves boolean[],
  p_open_sessions int[], p_open_positions bigint[], p_open_lines text,
  p_id_sessions int[], p_event_ids bytea[], p_id_positions bigint[],
  p_batch bigint
) RETURNS TABLE (numbers bigint[], first_position bigint, batch bigint)
LANGUAGE plpgsql SET lock_timeout = '30s' SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  v_numbers bigint[];
  v_accepted bigint[];
  v_count bigint;
  v_first bigint;
  v_firsts bigint[];
  v_batch bigint := p_batch;
BEGIN
  IF 0 = ANY (p_bases) THEN
    INSERT INTO ${schema}.sessions (id, revision, created_at, updated_at)
    SELECT id, 0, created, updated
    FROM unnest(p_ids, p_bases, p_created, p_updated) AS t (id, base, created, updated)
    WHERE base = 0 ORDER BY id
    ON CONFLICT (id) DO NOTHING;
  END IF;

  WITH accepted AS (
    UPDATE ${schema}.sessions s
    SET revision = t.revision, updated_at = t.updated,
      created_at = CASE WHEN t.base = 0 THEN t.created ELSE s.created_at END
    FROM unnest(p_ids, p_bases, p_epochs, p_revisions, p_created, p_updated) WITH ORDINALITY
      AS t (id, base, epoch, revision, created, updated, n)
    WHERE s.id = t.id AND s.revision = t.base AND NOT s.is_deleted
      AND (t.epoch IS NULL OR t.epoch = s.epoch)
    RETURNING t.n, s.number, t.revision - t.base AS count
  ) SELECT array_agg(number ORDER BY n), array_agg(n ORDER BY n), coalesce(sum(count), 0)
  INTO v_numbers, v_accepted, v_count FROM accepted;
  IF v_count = 0 THEN RETURN; END IF;
  IF cardinality(v_accepted) < cardinality(p_ids) THEN
    SELECT array_agg(v_numbers[array_position(v_accepted, n)] ORDER BY n) INTO v_numbers
    FROM generate_series(1::bigint, cardinality(p_ids)) AS n;
  END IF;

  v_first := ${schema}.positions_for(v_count);
  v_batch := ${schema}.note_runs(p_batch, v_first, v_count, v_numbers, p_bases, p_revisions);

  IF cardinality(p_closed) > 0 THEN
    WITH closed AS (
      DELETE FROM ${schema}.open_rows o USING unnest(p_closed, p_moves) AS t (n, moves)
      WHERE o.session = v_numbers[t.n] RETURNING o.*, t.moves
    ) INSERT INTO ${schema}.events (session, position, line)
    SELECT session, position, line FROM closed WHERE moves;
  END IF;

  IF p_lines <> '' THEN
    INSERT INTO ${schema}.events (session, position, line)
    SELECT v_numbers[n], position, line
    FROM unnest(p_row_sessions, p_row_positions, string_to_array(p_lines, E'\\n')) AS t (n, position, line)
    WHERE v_numbers[n] IS NOT NULL;
  END IF;

  IF p_open_lines <> '' THEN
    INSERT INTO ${schema}.open_rows (session, position, line)
    SELECT v_numbers[n], position, line
    FROM unnest(p_open_sessions, p_open_positions, string_to_array(p_open_lines, E'\\n')) AS t (n, position, line)
    WHERE v_numbers[n] IS NOT NULL
    ON CONFLICT (session) DO UPDATE SET position = excluded.position, line = excluded.line;
  END IF;

  IF cardinality(p_event_ids) > 0 THEN
    SELECT array_agg(v_first + before ORDER BY n) INTO v_firsts FROM (
      SELECT n, (sum(count) OVER (ORDER BY n))::bigint - count AS before FROM (
        SELECT n, CASE WHEN v_numbers[n] IS NULL THEN 0 ELSE p_revisions[n] - p_bases[n] END AS count
        FROM generate_series(1, cardinality(p_ids)) AS n
      ) AS counts
    ) AS shares;
    INSERT INTO ${schema}.event_ids (session, id, position, global_position)
    SELECT v_numbers[t.n], t.id, t.position, v_firsts[t.n] + t.position - p_bases[t.n] - 1
    FROM unnest(p_id_sessions, p_event_ids, p_id_positions) AS t (n, id, position)
    WHERE v_numbers[t.n] IS NOT NULL;
  END IF;

  RETURN QUERY SELECT v_numbers, v_first, v_batch;
END
$$;
`;
