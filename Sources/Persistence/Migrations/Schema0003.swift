/// The third schema: tables for reading with indexes, integer ids and times as text; writes are counted.
extension SchemaMigration {
    static let third = SchemaMigration(
        version: 3,
        sql: """
            DROP VIEW property_versions;
            DROP VIEW property_write;
            DROP VIEW properties;
            DROP VIEW objects;
            DROP VIEW object_uuid;
            -- No program has written to it yet.
            DROP TABLE snapshots;

            ALTER TABLE object ADD COLUMN uuid TEXT GENERATED ALWAYS AS (lower(
                substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
                || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21))) VIRTUAL;
            CREATE UNIQUE INDEX object_uuid ON object (uuid);

            -- The writes to a property, in force or not.
            ALTER TABLE register ADD COLUMN write_count INTEGER NOT NULL DEFAULT 0;
            UPDATE register SET write_count =
                1 + (SELECT count(*) FROM version WHERE version.register = register.register);
            CREATE INDEX register_name ON register (name);
            CREATE INDEX move_parent ON move (parent, object);

            -- What follows is for reading with any SQLite client. Times are text in UTC, as SQLite's date functions
            -- write and read them. Lookups by id, object, parent, type and name use indexes: joins name a range of
            -- registers, because the key of a register begins with its object.

            -- Snapshots of objects, of this database alone. What a list shows comes before the content, which is long.
            CREATE TABLE snapshot (
                snapshot INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                object_id TEXT NOT NULL,
                name TEXT,
                object_count INTEGER NOT NULL,
                byte_count INTEGER NOT NULL,
                created_at INTEGER NOT NULL,
                content TEXT NOT NULL
            );
            CREATE INDEX snapshot_object ON snapshot (object_id);

            CREATE VIEW snapshots (id, object_id, snapshot, created_at) AS
            SELECT id, object_id, content, strftime('%Y-%m-%d %H:%M:%f', created_at / 1000.0, 'unixepoch')
            FROM snapshot;

            CREATE VIEW objects (id, type, kind, parent, owner, creator, created_at, updated_at) AS
            SELECT
                object.uuid, type.text, kind.text, parent.uuid, lower(hex(line.user)), lower(hex(line.user)),
                strftime('%Y-%m-%d %H:%M:%f', (object.created_stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch'),
                strftime('%Y-%m-%d %H:%M:%f', (object.updated >> 16 & 281474976710655) / 1000.0, 'unixepoch')
            FROM object
            LEFT JOIN object AS parent ON parent.object = object.parent
            LEFT JOIN name AS type ON type.name = object.type
            LEFT JOIN name AS kind ON kind.name = object.kind
            LEFT JOIN line ON line.line = object.created_line
            WHERE object.visible;

            -- A value that is not a number (tag 4, kept as bytes) has no counterpart in SQL and shows as NULL.
            CREATE VIEW properties (id, object_id, name, value, version, updated_at) AS
            SELECT
                register.register, object.uuid, name.text,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                register.write_count,
                strftime('%Y-%m-%d %H:%M:%f', (register.stamp >> 16 & 281474976710655) / 1000.0, 'unixepoch')
            FROM object
            JOIN register ON register.object = object.object
                AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
            JOIN name ON name.name = register.name
            JOIN change ON change.line = register.line AND change.sequence = register.sequence
            JOIN operation ON operation.operation = change.operation + register.idx
            WHERE object.visible AND NOT register.is_removal;

            -- Every write: on side 0 the one in force, on side 1 the others. The number of one of those is that of all
            -- less the later ones. Of writes with one stamp, the order is that of replica, change, hash and place,
            -- which are the same on every machine.
            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                operation.operation, register.register, object.uuid, name.text,
                iif(side.past,
                    register.write_count - 1 - (
                        SELECT count(*) FROM version AS later
                        WHERE later.register = version.register AND later.stamp > version.stamp
                    ) - (
                        SELECT count(*) FROM version AS later
                        JOIN line AS later_line ON later_line.line = later.line
                        JOIN change AS later_change
                            ON later_change.line = later.line AND later_change.sequence = later.sequence
                        WHERE later.register = version.register AND later.stamp = version.stamp
                        AND (later_line.replica, later.sequence, later_change.hash, later.idx)
                            > (line.replica, version.sequence, change.hash, version.idx)
                    ),
                    register.write_count),
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                lower(hex(line.user)),
                strftime(
                    '%Y-%m-%d %H:%M:%f',
                    (iif(side.past, version.stamp, register.stamp) >> 16 & 281474976710655) / 1000.0, 'unixepoch'
                )
            FROM object
            JOIN register ON register.object = object.object
                AND register.register BETWEEN object.object << 32 AND object.object << 32 | 4294967294
            JOIN name ON name.name = register.name
            JOIN (SELECT 0 AS past UNION ALL SELECT 1) AS side
            LEFT JOIN version ON side.past AND version.register = register.register
            JOIN line ON line.line = iif(side.past, version.line, register.line)
            JOIN change ON change.line = iif(side.past, version.line, register.line)
                AND change.sequence = iif(side.past, version.sequence, register.sequence)
            JOIN operation ON operation.operation = change.operation + iif(side.past, version.idx, register.idx);

            -- The value of a property at a moment, which the reader names by "at": seconds since 1970, or a date in
            -- quotation marks, as JSON. A view has no parameters; json_each takes it in their place. Two steps in the
            -- index of the writes find the last one up to then.
            CREATE VIEW property_at (object_id, name, at, value, updated_at) AS
            SELECT
                object.uuid, name.text, moment.at,
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
