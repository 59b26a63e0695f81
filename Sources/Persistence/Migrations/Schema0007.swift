/// The seventh schema: what the views do not know of the time before a compaction, they do not show.
extension SchemaMigration {
    static let seventh = SchemaMigration(
        version: 7,
        sql: """
            DROP VIEW property_at;
            DROP VIEW property_versions;

            -- No dropped write to the property has a later stamp. Of what was dropped before this schema, nobody knows.
            ALTER TABLE spent ADD COLUMN last_stamp INTEGER NOT NULL DEFAULT 0;

            -- Those of before, but: a write that stayed where others were dropped may have come before or after them.
            -- So its number is not known, and what was in force then is not known.
            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                operation.operation, register.register, object.id, name.text,
                CASE
                    WHEN NOT side.past THEN register.write_count
                    WHEN spent.register IS NULL OR json_extract(write.value, '$[3]') > spent.last_stamp
                    THEN write.key + 1 + coalesce(spent.count, 0)
                END,
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
            JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
                AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
                AND register.register = (object.object << 32 | name.name)
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

            CREATE VIEW property_at (object_id, name, at, value, updated_at) AS
            SELECT
                object.id, name.text, moment.at,
                CASE WHEN operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL ELSE operation.value END,
                strftime(
                    '%Y-%m-%d %H:%M:%f',
                    (coalesce(past.stamp, register.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
                )
            FROM (
                SELECT json AS at, CAST(round(1000 * CASE typeof(value) WHEN 'text'
                    THEN (julianday(value) - 2440587.5) * 86400 ELSE value END) AS INTEGER) << 16 | 65535 AS last_stamp
                FROM json_each
            ) AS moment
            JOIN object
            JOIN register ON register.object = object.object
                AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
            JOIN name ON name.name = register.name
            JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
                AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
                AND register.register = (object.object << 32 | name.name)
            LEFT JOIN version AS past ON register.stamp > moment.last_stamp AND past.register = register.register
                AND (past.stamp, past.line, past.sequence, past.idx) = (
                    SELECT version.stamp, version.line, version.sequence, version.idx FROM version
                    JOIN line ON line.line = version.line
                    JOIN change ON change.line = version.line AND change.sequence = version.sequence
                    WHERE version.register = register.register AND version.stamp <= moment.last_stamp
                    ORDER BY version.stamp DESC, line.replica DESC, version.sequence DESC, change.hash DESC,
                        version.idx DESC
                    LIMIT 1
                )
            JOIN change ON change.line = iif(past.register IS NULL, register.line, past.line)
                AND change.sequence = iif(past.register IS NULL, register.sequence, past.sequence)
            JOIN operation ON operation.operation
                = change.operation + iif(past.register IS NULL, register.idx, past.idx)
            LEFT JOIN spent ON spent.register = register.register
            WHERE operation.kind = 2 AND (past.register IS NOT NULL OR register.stamp <= moment.last_stamp)
                AND (spent.register IS NULL OR coalesce(past.stamp, register.stamp) > spent.last_stamp);
            """
    )
}
