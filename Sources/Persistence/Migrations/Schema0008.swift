/// The eighth schema: an index of objects that were created without a place, and branches for readers of SQL: what is
/// written on them, and from when on it counts.
extension SchemaMigration {
    static let eighth = SchemaMigration(
        version: 8,
        sql: """
            -- Objects that stood at the root before a move put them anywhere: one bit an object, of each block of 64
            -- objects that has some. Almost every object is put somewhere by the change that creates it, and is not
            -- here. Some may be here that need not be.
            CREATE TABLE unplaced (
                block INTEGER PRIMARY KEY,
                objects INTEGER NOT NULL
            );
            INSERT INTO unplaced
            SELECT object >> 6, sum(1 << (object & 63)) FROM object WHERE NOT EXISTS (
                SELECT * FROM move INDEXED BY move_object
                WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
            ) GROUP BY 1;

            -- The branches that are not deleted. A statement about a branch has a byte that says what it does, and the
            -- id; that of an opening goes on with the id of the branch that it leaves behind a 1, or with a 0, and with
            -- the name behind the number of its bytes, seven bits a byte. Of several openings of one branch the lowest
            -- counts.
            CREATE VIEW branches (id, name, parent, author, created_at) AS
            WITH
                opening AS (
                    SELECT substr(statement, 2, 16) AS id, min(statement) AS statement, line, sequence FROM timeline
                    WHERE substr(statement, 1, 1) = x'01' GROUP BY 1
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
                lower(hex(line.user)),
                strftime('%Y-%m-%d %H:%M:%f', (change.stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch')
            FROM size
            JOIN line ON line.line = size.line
            JOIN change ON change.line = size.line AND change.sequence = size.sequence
            WHERE NOT EXISTS (
                SELECT * FROM timeline
                WHERE substr(timeline.statement, 1, 1) = x'02' AND substr(timeline.statement, 2, 16) = size.id
            );

            -- The writes to properties on branches that the main timeline has not taken in. Once it has, they are in
            -- property_versions.
            CREATE VIEW branch_versions (branch_id, object_id, name, value, author, created_at) AS
            SELECT
                lower(hex(line.timeline)), object.id, name.text,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                lower(hex(line.user)),
                strftime(
                    '%Y-%m-%d %H:%M:%f',
                    (coalesce(raised.stamp, change.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
                )
            FROM object
            JOIN unmerged ON unmerged.object = object.object
            JOIN name ON name.name = unmerged.name
            JOIN line ON line.line = unmerged.line
            JOIN change ON change.line = unmerged.line AND change.sequence = unmerged.sequence
            LEFT JOIN raised ON raised.line = unmerged.line AND raised.sequence = unmerged.sequence
            JOIN operation ON operation.operation = change.operation + unmerged.idx;

            -- How far a change of the main timeline had seen lines of branches when it merged them: from its stamp on,
            -- that counts. Of what was merged before this schema it is known that it counted at the last change of all.
            CREATE TABLE taken_in (
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                by_line INTEGER NOT NULL,
                by_sequence INTEGER NOT NULL,
                PRIMARY KEY (line, sequence, by_line, by_sequence)
            ) WITHOUT ROWID;
            INSERT INTO taken_in
            SELECT line.line, line.merged_sequence, last.line, last.applied_sequence FROM line JOIN (
                SELECT line, applied_sequence FROM line
                WHERE timeline IS NULL AND applied_sequence > 0 ORDER BY applied_stamp DESC LIMIT 1
            ) AS last
            WHERE line.timeline IS NOT NULL AND line.merged_sequence > 0;

            CREATE VIEW taken (line, sequence, stamp) AS
            SELECT taken_in.line, taken_in.sequence, coalesce(raised.stamp, change.stamp) FROM taken_in
            JOIN line ON line.line = taken_in.by_line AND line.applied_sequence >= taken_in.by_sequence
            JOIN change ON change.line = taken_in.by_line AND change.sequence = taken_in.by_sequence
            LEFT JOIN raised ON raised.line = taken_in.by_line AND raised.sequence = taken_in.by_sequence;

            -- That of before, but what was written on a branch counts from the merge on; and times after the year 6429
            -- count as that year, since stamps end there.
            DROP VIEW property_at;
            CREATE VIEW property_at (object_id, name, at, value, updated_at) AS
            SELECT
                object.id, name.text, moment.at,
                CASE WHEN operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL ELSE operation.value END,
                strftime(
                    '%Y-%m-%d %H:%M:%f',
                    (coalesce(past.stamp, register.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
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
            JOIN line AS own ON own.line = register.line
            JOIN (SELECT 0 AS is_past UNION ALL SELECT 1) AS side ON side.is_past = NOT (
                register.stamp <= moment.last_stamp AND (own.timeline IS NULL OR EXISTS (
                    SELECT * FROM taken WHERE taken.line = own.line AND taken.sequence >= register.sequence
                        AND taken.stamp <= moment.last_stamp
                ))
            )
            LEFT JOIN version AS past ON side.is_past AND past.register = register.register
                AND (past.stamp, past.line, past.sequence, past.idx) = (
                    SELECT version.stamp, version.line, version.sequence, version.idx FROM version
                    JOIN line ON line.line = version.line
                    JOIN change ON change.line = version.line AND change.sequence = version.sequence
                    WHERE version.register = register.register AND version.stamp <= moment.last_stamp
                        AND (line.timeline IS NULL OR EXISTS (
                            SELECT * FROM taken WHERE taken.line = line.line AND taken.sequence >= version.sequence
                                AND taken.stamp <= moment.last_stamp
                        ))
                    ORDER BY version.stamp DESC, line.replica DESC, version.sequence DESC, change.hash DESC,
                        version.idx DESC
                    LIMIT 1
                )
            JOIN change ON change.line = iif(past.register IS NULL, register.line, past.line)
                AND change.sequence = iif(past.register IS NULL, register.sequence, past.sequence)
            JOIN operation ON operation.operation
                = change.operation + iif(past.register IS NULL, register.idx, past.idx)
            LEFT JOIN spent ON spent.register = register.register
            WHERE operation.kind = 2 AND (past.register IS NOT NULL OR NOT side.is_past)
                AND (spent.register IS NULL OR coalesce(past.stamp, register.stamp) > spent.last_stamp);
            """
    )
}
