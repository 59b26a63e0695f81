/// The sixth schema: ids of objects as text, and a small index of names in the place of a large one.
extension SchemaMigration {
    static let sixth = SchemaMigration(
        version: 6,
        sql: """
            DROP VIEW property_at;
            DROP VIEW property_versions;
            DROP VIEW properties;
            DROP VIEW objects;

            -- The id of an object is text in its row, and needs one index in the place of two.
            CREATE TABLE object_with_text (
                object INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                created_stamp INTEGER,
                created_line INTEGER,
                created_sequence INTEGER,
                created_idx INTEGER,
                type INTEGER,
                kind INTEGER,
                existence BLOB NOT NULL,
                updated INTEGER NOT NULL,
                parent INTEGER,
                position BLOB NOT NULL,
                open_move_line INTEGER,
                open_move_sequence INTEGER,
                open_move_idx INTEGER,
                other_open_moves BLOB,
                child_count INTEGER NOT NULL,
                visible_child_count INTEGER NOT NULL,
                visible INTEGER NOT NULL,
                changed INTEGER NOT NULL,
                shown INTEGER NOT NULL,
                hidden INTEGER NOT NULL,
                placed INTEGER NOT NULL
            );
            INSERT INTO object_with_text
            SELECT
                object, lower(
                    substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
                    || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)),
                created_stamp, created_line, created_sequence, created_idx, type, kind, existence, updated, parent,
                position, open_move_line, open_move_sequence, open_move_idx, other_open_moves, child_count,
                visible_child_count, visible, changed, shown, hidden, placed
            FROM object ORDER BY object;
            DROP TABLE object;
            ALTER TABLE object_with_text RENAME TO object;
            CREATE INDEX object_place ON object (parent, position);
            CREATE INDEX object_type ON object (type, id) WHERE visible;
            CREATE INDEX object_changed ON object (changed);
            CREATE INDEX object_open_moves ON object (object) WHERE other_open_moves IS NOT NULL;

            -- The blocks of 64 objects in which a name occurs: an index of names that a new property hardly ever adds
            -- to. A search by name looks at the objects of those blocks. A block may be listed that has no such
            -- property any more.
            DROP INDEX register_name;
            CREATE TABLE name_block (
                name INTEGER NOT NULL,
                block INTEGER NOT NULL,
                PRIMARY KEY (name, block)
            ) WITHOUT ROWID;
            INSERT INTO name_block SELECT DISTINCT name, object >> 6 FROM register;

            -- The views are those of before, but for the id and for the search by name.
            CREATE VIEW objects (id, type, kind, parent, owner, creator, created_at, updated_at) AS
            SELECT
                object.id, type.text, kind.text, parent.id, lower(hex(line.user)), lower(hex(line.user)),
                strftime('%Y-%m-%d %H:%M:%f', (object.created_stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch'),
                strftime('%Y-%m-%d %H:%M:%f', (object.updated >> 16 & 281474976710655) / 1000.0, 'unixepoch')
            FROM object
            LEFT JOIN object AS parent ON parent.object = object.parent
            LEFT JOIN name AS type ON type.name = object.type
            LEFT JOIN name AS kind ON kind.name = object.kind
            LEFT JOIN line ON line.line = object.created_line
            WHERE object.visible;

            CREATE VIEW properties (id, object_id, name, value, version, updated_at) AS
            SELECT
                register.register, object.id, name.text,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                register.write_count,
                strftime('%Y-%m-%d %H:%M:%f', (register.stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch')
            FROM object
            JOIN register ON register.object = object.object
                AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
            JOIN name ON name.name = register.name
            JOIN name_block ON name_block.name = name.name AND name_block.block = object.object >> 6
                AND object.object BETWEEN name_block.block << 6 AND name_block.block << 6 | 63
                AND register.register = (object.object << 32 | name.name)
            JOIN change ON change.line = register.line AND change.sequence = register.sequence
            JOIN operation ON operation.operation = change.operation + register.idx
            WHERE object.visible AND NOT register.is_removal;

            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                operation.operation, register.register, object.id, name.text,
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
            WHERE operation.kind = 2 AND (past.register IS NOT NULL OR register.stamp <= moment.last_stamp);
            """
    )
}
