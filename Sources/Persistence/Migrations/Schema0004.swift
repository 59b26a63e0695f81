/// The fourth schema: branches of the workspace, an index of creations, versions that are numbered in one pass, and
/// writes that compaction drops.
extension SchemaMigration {
    static let fourth = SchemaMigration(
        version: 4,
        sql: """
            -- The branch that a line belongs to, NULL for the main timeline; and how far it counts there.
            ALTER TABLE line ADD COLUMN timeline BLOB;
            ALTER TABLE line ADD COLUMN merged_sequence INTEGER NOT NULL DEFAULT 0;

            -- What opens and closes branches, as the log has it.
            CREATE TABLE timeline (
                timeline INTEGER PRIMARY KEY,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                statement BLOB NOT NULL
            );

            -- Operations of branches that are not merged. The name of creations and deletions is 4294967295, that of
            -- moves 4294967294.
            CREATE TABLE unmerged (
                object INTEGER NOT NULL,
                name INTEGER NOT NULL,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                kind INTEGER NOT NULL,
                parent INTEGER,
                PRIMARY KEY (object, name, line, sequence, idx)
            ) WITHOUT ROWID;
            CREATE INDEX unmerged_change ON unmerged (line, sequence, object);
            CREATE INDEX unmerged_parent ON unmerged (parent, object) WHERE kind = 4;

            -- Creations of objects that have several.
            CREATE INDEX version_creation ON version (register) WHERE status = 2;

            -- Writes that compaction dropped: how many of each property, and their first and last sequence on each
            -- line. A change of which nothing else is left (has_left_out 2) has its root as blinding, no rows in
            -- "operation", and in "spent" an object and a name for each operation.
            CREATE TABLE spent (
                register INTEGER PRIMARY KEY,
                count INTEGER NOT NULL,
                first BLOB NOT NULL,
                last BLOB NOT NULL
            );
            ALTER TABLE change ADD COLUMN spent BLOB;

            -- Every write: on side 0 the one in force, on side 1 the others, put in order once for each property. Of
            -- writes with one stamp, the order is that of replica, change, hash and place, which are the same on every
            -- machine. Those that were dropped came before. A join cannot number the rows of one property alone;
            -- json_each can, in the place of a lateral join.
            DROP VIEW property_versions;
            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                operation.operation, register.register, object.uuid, name.text,
                iif(side.past, write.key + 1 + coalesce(spent.count, 0), register.write_count),
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                lower(hex(line.user)),
                strftime(
                    '%Y-%m-%d %H:%M:%f',
                    (iif(side.past, json_extract(write.value, '$[3]'), register.stamp) >> 16 & 281474976710655)
                        / 1000.0,
                    'unixepoch'
                )
            FROM object
            JOIN register ON register.object = object.object
                AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
            JOIN name ON name.name = register.name
            LEFT JOIN spent ON spent.register = register.register
            JOIN (SELECT 0 AS past UNION ALL SELECT 1) AS side
            JOIN json_each(iif(side.past, (
                SELECT json_group_array(json_array(line, sequence, idx, stamp)) FROM (
                    SELECT version.line, version.sequence, version.idx, version.stamp FROM version
                    JOIN line ON line.line = version.line
                    JOIN change ON change.line = version.line AND change.sequence = version.sequence
                    WHERE version.register = register.register
                    ORDER BY version.stamp, line.replica, version.sequence, change.hash, version.idx
                )
            ), '[null]')) AS write
            JOIN line ON line.line = iif(side.past, json_extract(write.value, '$[0]'), register.line)
            JOIN change ON change.line = line.line
                AND change.sequence = iif(side.past, json_extract(write.value, '$[1]'), register.sequence)
            JOIN operation ON operation.operation
                = change.operation + iif(side.past, json_extract(write.value, '$[2]'), register.idx);
            """
    )
}
