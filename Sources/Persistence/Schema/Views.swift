/// The views, which other programs read.
extension Schema {
    static let views = """
        -- These are for reading with any SQLite client. Times are text in UTC, as SQLite's date functions write and
        -- read them. Lookups by id, object, parent, type and name use indexes: joins name a range of registers,
        -- because the key of a register begins with its object, and the blocks in which a name occurs.

        CREATE VIEW snapshots (id, object_id, snapshot, created_at) AS
        SELECT id, object_id, content, strftime('%Y-%m-%d %H:%M:%f', created_at / 1000.0, 'unixepoch')
        FROM snapshot;

        -- What the user sees, put together from all circles: what shows where its circle says, and what is elsewhere.
        CREATE VIEW objects (id, type, kind, parent, owner, creator, created_at, updated_at) AS
        SELECT
            object.id, type.text, kind.text, parent.id, lower(hex(segment.user)), lower(hex(segment.user)),
            strftime('%Y-%m-%d %H:%M:%f', (object.created_stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch'),
            strftime('%Y-%m-%d %H:%M:%f', (max(object.updated, coalesce((
                SELECT max(hidden.updated) FROM overlay JOIN object AS hidden ON hidden.object = overlay.object
                WHERE overlay.beside = object.object
            ), object.updated)) >> 16 & 281474976710655) / 1000.0, 'unixepoch')
        FROM object
        LEFT JOIN object AS parent ON parent.object = object.parent
        LEFT JOIN name AS type ON type.name = object.type
        LEFT JOIN name AS kind ON kind.name = object.kind
        LEFT JOIN segment ON segment.segment = object.created_segment
        WHERE object.visible AND NOT EXISTS (SELECT * FROM overlay WHERE overlay.object = object.object)
        UNION ALL
        SELECT
            object.id, type.text, kind.text, parent.id, lower(hex(segment.user)), lower(hex(segment.user)),
            strftime('%Y-%m-%d %H:%M:%f', (object.created_stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch'),
            strftime('%Y-%m-%d %H:%M:%f', (max(object.updated, coalesce((
                SELECT max(hidden.updated) FROM overlay JOIN object AS hidden ON hidden.object = overlay.object
                WHERE overlay.beside = object.object
            ), object.updated)) >> 16 & 281474976710655) / 1000.0, 'unixepoch')
        FROM object
        JOIN overlay ON overlay.object = object.object
        JOIN object AS place ON place.object = overlay.place
        LEFT JOIN object AS parent ON parent.object = place.parent
        LEFT JOIN name AS type ON type.name = object.type
        LEFT JOIN name AS kind ON kind.name = object.kind
        LEFT JOIN segment ON segment.segment = object.created_segment
        WHERE object.visible;

        -- A value that is not a number (kind -5, kept as bytes) has no counterpart in SQL and shows as NULL. Null (kind
        -- -1) stands for no value where a property is hidden.
        CREATE VIEW properties (id, object_id, name, value, version, updated_at) AS
        SELECT
            register.register, object.id, name.text,
            CASE WHEN operation.kind > 2 OR operation.kind = -5 AND typeof(operation.value) = 'blob' THEN NULL
                ELSE operation.value END,
            register.write_count,
            strftime(
                '%Y-%m-%d %H:%M:%f',
                (coalesce(register.stamp, change.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
            )
        FROM object
        JOIN register ON register.object = object.object
            AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
        JOIN name ON name.name = register.name
        JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
            AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
            AND register.register = (object.object << 32 | name.name)
        JOIN change ON change.segment = register.segment AND change.sequence = register.sequence
        JOIN operation ON operation.operation = change.operation + register.idx
        LEFT JOIN overlay ON overlay.object = object.object
        WHERE object.visible AND register.conflict_count >= 0
            AND (overlay.object IS NULL OR overlay.place IS NOT NULL
                OR overlay.beside IS NOT NULL AND operation.kind <> -1)
            AND NOT EXISTS (
                SELECT * FROM overlay AS other
                JOIN register AS hidden ON hidden.register = (other.object << 32 | register.name)
                WHERE other.beside = coalesce(overlay.beside, object.object)
                    AND other.rank < coalesce(overlay.rank, 4294967295) AND hidden.conflict_count >= 0
            );

        -- Who may do what, as far as it is known here: with all that somebody has for himself (no object), with an
        -- object and what is below it, or with one property of it.
        CREATE VIEW permissions (id, object_id, property_name, user_id, can_read, can_write) AS
        SELECT CAST(access AS TEXT), CAST(NULL AS TEXT), property, lower(hex(user)), 1, can_write
        FROM access WHERE scope = 0
        UNION ALL
        SELECT
            CAST(access.access || ':' || object.object AS TEXT), object.id, access.property, lower(hex(access.user)), 1,
            access.can_write
        FROM object
        JOIN access ON access.circle = object.circle AND access.scope = 1
        WHERE object.circle > 0 AND object.parent IS NULL AND object.visible AND NOT EXISTS (
            SELECT * FROM overlay WHERE overlay.object = object.object AND overlay.place IS NULL
        )
        UNION ALL
        SELECT
            CAST(access.access || ':' || register.register AS TEXT), object.id, name.text, lower(hex(access.user)), 1,
            access.can_write
        FROM object
        JOIN access ON access.circle = object.circle AND access.scope = 2
        JOIN overlay ON overlay.object = object.object AND overlay.beside IS NOT NULL
        JOIN register ON register.object = object.object
            AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
        JOIN name ON name.name = register.name
        WHERE object.circle > 0 AND register.conflict_count >= 0;

        -- Every write: on side 0 the one in force, on side 1 the others, put in order once for each property. Of
        -- writes with one stamp, the order is that of replica, change, hash and place, which are the same on every
        -- machine. Those that were dropped came before; a write that stayed where others were dropped may have come
        -- before or after them, so its number is not known. A join cannot number the rows of one property alone;
        -- json_each can, in the place of a lateral join.
        CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
        SELECT
            operation.operation, register.register, object.id, name.text,
            CASE
                WHEN NOT side.past THEN register.write_count
                WHEN coalesce(json_extract(write.value, '$[3]') > (
                    SELECT max(last_stamp) FROM redacted WHERE redacted.register = register.register
                ), 1)
                THEN write.key + 1 + coalesce((
                    SELECT sum(count) FROM redacted WHERE redacted.register = register.register
                ), 0)
            END,
            CASE WHEN operation.kind > 2 OR operation.kind = -5 AND typeof(operation.value) = 'blob' THEN NULL
                ELSE operation.value END,
            lower(hex(segment.user)),
            strftime(
                '%Y-%m-%d %H:%M:%f',
                (iif(side.past, json_extract(write.value, '$[3]'), coalesce(register.stamp, change.stamp))
                    >> 16 & 281474976710655) / 1000.0,
                'unixepoch'
            )
        FROM object
        JOIN register ON register.object = object.object
            AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
        JOIN name ON name.name = register.name
        JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
            AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
            AND register.register = (object.object << 32 | name.name)
        JOIN (SELECT 0 AS past UNION ALL SELECT 1) AS side
        JOIN json_each(iif(side.past, (
            SELECT json_group_array(json_array(segment, sequence, idx, stamp)) FROM (
                SELECT version.segment, version.sequence, version.idx, version.stamp FROM version
                JOIN segment ON segment.segment = version.segment
                JOIN change ON change.segment = version.segment AND change.sequence = version.sequence
                WHERE version.register = register.register
                ORDER BY version.stamp, segment.replica, version.sequence, change.hash, version.idx
            )
        ), '[null]')) AS write
        JOIN segment ON segment.segment = iif(side.past, json_extract(write.value, '$[0]'), register.segment)
        JOIN change ON change.segment = segment.segment
            AND change.sequence = iif(side.past, json_extract(write.value, '$[1]'), register.sequence)
        JOIN operation ON operation.operation
            = change.operation + iif(side.past, json_extract(write.value, '$[2]'), register.idx);

        -- The branches that are not deleted, or of which something is here that nobody had seen who deleted them. A
        -- statement about a branch has a byte that says what it does, and the id; that of an opening goes on with the
        -- id of the branch that it leaves behind a 1, or with a 0, and with the name behind the number of its bytes,
        -- seven bits a byte. Of several openings of one branch the lowest counts.
        CREATE VIEW branches (id, name, parent, author, created_at) AS
        WITH
            opening AS (
                SELECT substr(statement, 2, 16) AS id, min(statement) AS statement, segment, sequence FROM branch
                WHERE substr(statement, 1, 1) = x'00' GROUP BY 1
            ),
            part AS (
                SELECT opening.*, substr(statement, 18, 1) = x'01' AS is_nested,
                    iif(substr(statement, 18, 1) = x'01', 35, 19) AS place
                FROM opening
            ),
            digits AS (
                SELECT part.*, hex(substr(statement, place, 2)) AS digits, '0123456789ABCDEF' AS all_digits
                FROM part
            ),
            size AS (
                SELECT digits.*,
                    16 * instr(all_digits, substr(digits, 1, 1)) + instr(all_digits, substr(digits, 2, 1)) - 17
                        AS first,
                    16 * instr(all_digits, substr(digits, 3, 1)) + instr(all_digits, substr(digits, 4, 1)) - 17
                        AS second
                FROM digits
            )
        SELECT
            lower(hex(size.id)),
            CAST(iif(first < 128, substr(statement, place + 1, first),
                substr(statement, place + 2, first - 128 + 128 * second)) AS TEXT),
            iif(is_nested, lower(hex(substr(statement, 19, 16))), NULL),
            lower(hex(segment.user)),
            strftime('%Y-%m-%d %H:%M:%f', (change.stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch')
        FROM size
        JOIN segment ON segment.segment = size.segment
        JOIN change ON change.segment = size.segment AND change.sequence = size.sequence
        WHERE size.id NOT IN (
            SELECT substr(branch.statement, 2, 16) FROM branch
            JOIN segment AS closer ON closer.segment = branch.segment AND closer.applied_sequence >= branch.sequence
            WHERE substr(branch.statement, 1, 1) = x'01'
        ) OR size.id IN (
            SELECT part.branch FROM segment AS part
            WHERE part.branch IS NOT NULL AND part.stored_sequence > coalesce(part.parent_sequence, 0)
                AND part.stored_sequence > part.closed_sequence
        );

        -- The writes to properties on branches that the main timeline has not taken in. Once it has, they are in
        -- property_versions.
        CREATE VIEW branch_versions (branch_id, object_id, name, value, author, created_at) AS
        SELECT
            lower(hex(segment.branch)), object.id, name.text,
            CASE WHEN operation.kind > 2 OR operation.kind = -5 AND typeof(operation.value) = 'blob' THEN NULL
                ELSE operation.value END,
            lower(hex(segment.user)),
            strftime(
                '%Y-%m-%d %H:%M:%f',
                (coalesce(raised.stamp, change.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
            )
        FROM object
        JOIN unmerged ON unmerged.object = object.object
        JOIN name ON name.name = unmerged.name
        JOIN segment ON segment.segment = unmerged.segment
        JOIN change ON change.segment = unmerged.segment AND change.sequence = unmerged.sequence
        LEFT JOIN raised ON raised.segment = unmerged.segment AND raised.sequence = unmerged.sequence
        JOIN operation ON operation.operation = change.operation + unmerged.idx;

        -- From which stamp on how much of a segment of a branch counts.
        CREATE VIEW taken (segment, sequence, stamp) AS
        SELECT taken_in.segment, taken_in.sequence, coalesce(raised.stamp, change.stamp) FROM taken_in
        JOIN segment ON segment.segment = taken_in.by_segment AND segment.applied_sequence >= taken_in.by_sequence
        JOIN change ON change.segment = taken_in.by_segment AND change.sequence = taken_in.by_sequence
        LEFT JOIN raised ON raised.segment = taken_in.by_segment AND raised.sequence = taken_in.by_sequence;

        -- The value of a property at a moment, which the reader names by "at": seconds since 1970, or a date in
        -- quotation marks, as JSON. A view has no parameters; json_each takes it in their place. Two steps in the
        -- index of the writes find the last one up to then. What was written on a branch counts from the merge on.
        -- Times after the year 6429 count as that year, since stamps end there. What was in force where writes were
        -- dropped is not known.
        CREATE VIEW property_at (object_id, name, at, value, updated_at) AS
        SELECT
            object.id, name.text, moment.at,
            CASE WHEN operation.kind = -5 AND typeof(operation.value) = 'blob' THEN NULL ELSE operation.value END,
            strftime(
                '%Y-%m-%d %H:%M:%f',
                (coalesce(past.stamp, register.stamp, newest.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
            )
        FROM (
            SELECT json AS at, min(
                CAST(round(1000 * CASE typeof(value) WHEN 'text'
                    THEN (julianday(value) - 2440587.5) * 86400 ELSE value END) AS INTEGER),
                140737488355327
            ) << 16 | 65535 AS last_stamp
            FROM json_each
        ) AS moment
        JOIN object
        JOIN register ON register.object = object.object
            AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
        JOIN name ON name.name = register.name
        JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
            AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
            AND register.register = (object.object << 32 | name.name)
        JOIN segment AS own ON own.segment = register.segment
        JOIN change AS newest ON newest.segment = register.segment AND newest.sequence = register.sequence
        JOIN (SELECT 0 AS is_past UNION ALL SELECT 1) AS side ON side.is_past = NOT (
            coalesce(register.stamp, newest.stamp) <= moment.last_stamp AND (own.branch IS NULL OR EXISTS (
                SELECT * FROM taken WHERE taken.segment = own.segment AND taken.sequence >= register.sequence
                    AND taken.stamp <= moment.last_stamp
            ))
        )
        LEFT JOIN version AS past ON side.is_past AND past.register = register.register
            AND (past.stamp, past.segment, past.sequence, past.idx) = (
                SELECT version.stamp, version.segment, version.sequence, version.idx FROM version
                JOIN segment ON segment.segment = version.segment
                JOIN change ON change.segment = version.segment AND change.sequence = version.sequence
                WHERE version.register = register.register AND version.stamp <= moment.last_stamp
                    AND (segment.branch IS NULL OR EXISTS (
                        SELECT * FROM taken WHERE taken.segment = segment.segment AND taken.sequence >= version.sequence
                            AND taken.stamp <= moment.last_stamp
                    ))
                ORDER BY version.stamp DESC, segment.replica DESC, version.sequence DESC, change.hash DESC,
                    version.idx DESC
                LIMIT 1
            )
        JOIN change ON change.segment = iif(past.register IS NULL, register.segment, past.segment)
            AND change.sequence = iif(past.register IS NULL, register.sequence, past.sequence)
        JOIN operation ON operation.operation
            = change.operation + iif(past.register IS NULL, register.idx, past.idx)
        WHERE operation.kind <= 2 AND (past.register IS NOT NULL OR NOT side.is_past)
            AND coalesce(coalesce(past.stamp, register.stamp, newest.stamp) > (
                SELECT max(last_stamp) FROM redacted WHERE redacted.register = register.register
            ), 1);
        """
}
