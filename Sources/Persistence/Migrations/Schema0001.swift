/// The first schema. Released migrations are never edited: what is to change goes into the next one.
extension SchemaMigration {
    static let first = SchemaMigration(
        version: 1,
        sql: """
            -- Replicas by number, from 0 without gaps. Stamps and sequences are unsigned; SQLite shows them signed.
            CREATE TABLE replica (
                replica INTEGER PRIMARY KEY,
                id BLOB NOT NULL UNIQUE,
                user BLOB,
                device BLOB,
                device_name TEXT,
                introduction BLOB,
                stored_sequence INTEGER NOT NULL,
                stored_hash BLOB NOT NULL,
                stored_stamp INTEGER NOT NULL,
                applied_sequence INTEGER NOT NULL,
                applied_stamp INTEGER NOT NULL,
                context BLOB NOT NULL,
                fork_sequence INTEGER,
                retired_after INTEGER,
                backdated_after INTEGER
            );

            CREATE TABLE name (
                name INTEGER PRIMARY KEY,
                text TEXT NOT NULL UNIQUE
            );

            CREATE TABLE grant_reference (
                grant_reference INTEGER PRIMARY KEY,
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                UNIQUE (replica, sequence, idx)
            );

            -- The log: changes by (replica, sequence). The operations of a change have the numbers from "operation" on.
            CREATE TABLE change (
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                stamp INTEGER NOT NULL,
                operation INTEGER NOT NULL,
                operation_count INTEGER NOT NULL,
                payload_byte_count INTEGER NOT NULL,
                context BLOB NOT NULL,
                has_left_out INTEGER NOT NULL,
                blinding BLOB NOT NULL,
                hash BLOB NOT NULL,
                PRIMARY KEY (replica, sequence)
            ) WITHOUT ROWID;

            -- The log: operations in the order of arrival. "operand" is a name, a type or a parent, as the kind has it.
            CREATE TABLE operation (
                operation INTEGER PRIMARY KEY,
                kind INTEGER NOT NULL,
                object INTEGER,
                operand INTEGER,
                grant_reference INTEGER,
                tag INTEGER,
                value
            );

            -- The log: where verified runs ended, and what lies between this end and the one kept before it.
            CREATE TABLE run_signature (
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                operation_count INTEGER NOT NULL,
                payload_byte_count INTEGER NOT NULL,
                signature BLOB NOT NULL,
                PRIMARY KEY (replica, sequence)
            ) WITHOUT ROWID;

            -- State: objects by number. A row without a creation is an object that was only referred to.
            CREATE TABLE object (
                object INTEGER PRIMARY KEY,
                id BLOB NOT NULL UNIQUE,
                created_stamp INTEGER,
                created_replica INTEGER,
                created_sequence INTEGER,
                created_idx INTEGER,
                type INTEGER,
                kind INTEGER,
                existence BLOB NOT NULL,
                updated INTEGER NOT NULL,
                parent INTEGER,
                position BLOB NOT NULL,
                child_count INTEGER NOT NULL,
                visible_child_count INTEGER NOT NULL,
                visible INTEGER NOT NULL
            );
            CREATE INDEX object_place ON object (parent, position);

            -- State: the write in force of each property. The key is object * 2^32 + name.
            CREATE TABLE register (
                register INTEGER PRIMARY KEY,
                object INTEGER GENERATED ALWAYS AS (register >> 32) VIRTUAL,
                name INTEGER GENERATED ALWAYS AS (register & 4294967295) VIRTUAL,
                stamp INTEGER NOT NULL,
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                is_removal INTEGER NOT NULL,
                conflict_count INTEGER NOT NULL
            );

            -- State: the writes not in force. Status 0 is superseded, 1 conflicting, 2 rejected.
            CREATE TABLE version (
                register INTEGER NOT NULL,
                stamp INTEGER NOT NULL,
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                status INTEGER NOT NULL,
                PRIMARY KEY (register, stamp, replica, sequence, idx)
            ) WITHOUT ROWID;
            CREATE INDEX version_conflict ON version (register) WHERE status = 1;

            -- State: all moves.
            CREATE TABLE move (
                stamp INTEGER NOT NULL,
                replica INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                object INTEGER NOT NULL,
                parent INTEGER,
                position BLOB NOT NULL,
                effective INTEGER NOT NULL,
                PRIMARY KEY (stamp, replica, sequence, idx)
            ) WITHOUT ROWID;
            CREATE INDEX move_object ON move (object, effective, stamp);
            CREATE INDEX move_without_effect ON move (object) WHERE effective = 0;

            CREATE TABLE fact (
                name TEXT PRIMARY KEY,
                value BLOB NOT NULL
            ) WITHOUT ROWID;

            -- What follows is for reading with any SQLite client. Times are milliseconds since 1970.

            CREATE TABLE permissions (
                id TEXT PRIMARY KEY,
                object_id TEXT,
                property_name TEXT,
                user_id TEXT NOT NULL,
                can_read INTEGER NOT NULL,
                can_write INTEGER NOT NULL
            ) WITHOUT ROWID;

            CREATE TABLE snapshots (
                id TEXT PRIMARY KEY,
                object_id TEXT NOT NULL,
                snapshot BLOB NOT NULL,
                created_at INTEGER NOT NULL
            ) WITHOUT ROWID;

            CREATE VIEW object_uuid (object, uuid) AS
            SELECT object, lower(
                substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
                || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21))
            FROM object;

            CREATE VIEW objects (id, type, kind, parent, owner, creator, created_at, updated_at) AS
            SELECT
                self.uuid, type.text, kind.text, parent.uuid, lower(hex(replica.user)), lower(hex(replica.user)),
                (object.created_stamp >> 16) & 281474976710655, (object.updated >> 16) & 281474976710655
            FROM object
            JOIN object_uuid AS self ON self.object = object.object
            LEFT JOIN object_uuid AS parent ON parent.object = object.parent
            LEFT JOIN name AS type ON type.name = object.type
            LEFT JOIN name AS kind ON kind.name = object.kind
            LEFT JOIN replica ON replica.replica = object.created_replica
            WHERE object.visible;

            -- A value that is not a number (tag 4, kept as bytes) has no counterpart in SQL and shows as NULL.
            CREATE VIEW properties (id, object_id, name, value, version, updated_at) AS
            SELECT
                self.uuid || '/' || name.text, self.uuid, name.text,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                register.stamp, (register.stamp >> 16) & 281474976710655
            FROM register
            JOIN object ON object.object = register.object AND object.visible
            JOIN object_uuid AS self ON self.object = register.object
            JOIN name ON name.name = register.name
            JOIN change ON change.replica = register.replica AND change.sequence = register.sequence
            JOIN operation ON operation.operation = change.operation + register.idx
            WHERE NOT register.is_removal;

            CREATE VIEW property_write (register, stamp, replica, sequence, idx) AS
            SELECT register, stamp, replica, sequence, idx FROM register
            UNION ALL
            SELECT register, stamp, replica, sequence, idx FROM version;

            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                lower(hex(replica.id)) || '-' || write.sequence || '-' || write.idx,
                self.uuid || '/' || name.text, self.uuid, name.text, write.stamp,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                lower(hex(replica.user)), (write.stamp >> 16) & 281474976710655
            FROM property_write AS write
            JOIN object_uuid AS self ON self.object = write.register >> 32
            JOIN name ON name.name = write.register & 4294967295
            JOIN replica ON replica.replica = write.replica
            JOIN change ON change.replica = write.replica AND change.sequence = write.sequence
            JOIN operation ON operation.operation = change.operation + write.idx;
            """
    )
}
