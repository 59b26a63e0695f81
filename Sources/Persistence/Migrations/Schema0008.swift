/// The eighth schema: an index of objects that were created without a place, and branches for readers of SQL.
extension SchemaMigration {
    static let eighth = SchemaMigration(
        version: 8,
        sql: """
            -- Objects that stood at the root before a move put them anywhere. Almost every object is put somewhere by
            -- the change that creates it, and is not here. Some may be here that need not be.
            CREATE TABLE unplaced (object INTEGER PRIMARY KEY);
            INSERT INTO unplaced
            SELECT object FROM object WHERE NOT EXISTS (
                SELECT * FROM move INDEXED BY move_object
                WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
            );

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
            """
    )
}
