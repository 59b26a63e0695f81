/// The first schema. Released migrations are never edited: what is to change goes into the next one.
extension SchemaMigration {
    static let first = SchemaMigration(
        version: 1,
        sql: """
            -- Lines by number, from 0 without gaps: stretches of replicas' chains without a fork. One that has a parent
            -- hangs on a change of that line, which has a lower number. Stamps and sequences are unsigned; SQLite
            -- shows them signed.
            CREATE TABLE line (
                line INTEGER PRIMARY KEY,
                replica BLOB NOT NULL,
                user BLOB,
                device BLOB,
                device_name TEXT,
                introduction BLOB,
                parent_line INTEGER,
                parent_sequence INTEGER,
                first_hash BLOB,
                sibling_hash BLOB,
                stored_sequence INTEGER NOT NULL,
                stored_hash BLOB NOT NULL,
                applied_sequence INTEGER NOT NULL,
                applied_stamp INTEGER NOT NULL,
                recent BLOB NOT NULL,
                checkpoint_sequence INTEGER NOT NULL,
                checkpoint_number INTEGER NOT NULL,
                first_raised INTEGER
            );
            CREATE INDEX line_replica ON line (replica);

            CREATE TABLE name (
                name INTEGER PRIMARY KEY,
                text TEXT NOT NULL UNIQUE
            );

            CREATE TABLE grant_reference (
                grant_reference INTEGER PRIMARY KEY,
                replica BLOB NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                UNIQUE (replica, sequence, idx)
            );

            -- The log: changes by (line, sequence). The operations of a change have the numbers from "operation" on.
            CREATE TABLE change (
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                stamp INTEGER NOT NULL,
                operation INTEGER NOT NULL,
                operation_count INTEGER NOT NULL,
                byte_count INTEGER NOT NULL,
                context BLOB NOT NULL,
                has_left_out INTEGER NOT NULL,
                blinding BLOB NOT NULL,
                hash BLOB NOT NULL,
                PRIMARY KEY (line, sequence)
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
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                operation_count INTEGER NOT NULL,
                byte_count INTEGER NOT NULL,
                signature BLOB NOT NULL,
                PRIMARY KEY (line, sequence)
            ) WITHOUT ROWID;

            -- The log: stretches of chains that some operation restamps. One that is not settled has no effect yet.
            CREATE TABLE restamp (
                restamp INTEGER PRIMARY KEY,
                author_line INTEGER NOT NULL,
                replica BLOB NOT NULL,
                first_sequence INTEGER NOT NULL,
                last_sequence INTEGER NOT NULL,
                last_hash BLOB NOT NULL,
                is_settled INTEGER NOT NULL DEFAULT 0
            );

            -- State: the effective stamps of changes that are not their own, and the changes that they follow from.
            CREATE TABLE raised (
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                stamp INTEGER NOT NULL,
                cause_line INTEGER,
                cause_sequence INTEGER,
                PRIMARY KEY (line, sequence)
            ) WITHOUT ROWID;
            CREATE INDEX raised_cause ON raised (cause_line, cause_sequence);

            -- State: what some changes had seen, as a sequence for each line.
            CREATE TABLE checkpoint (
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                number INTEGER NOT NULL,
                base INTEGER NOT NULL,
                additions BLOB NOT NULL,
                PRIMARY KEY (line, sequence)
            ) WITHOUT ROWID;

            -- State: objects by number. A row without a creation is an object that was only referred to. Commits that
            -- change objects are numbered: the last that changed anything of the object, that made it show, that made
            -- it show no more, and that changed its parent, type or kind.
            CREATE TABLE object (
                object INTEGER PRIMARY KEY,
                id BLOB NOT NULL UNIQUE,
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
            CREATE INDEX object_place ON object (parent, position);
            CREATE INDEX object_type ON object (type, id) WHERE visible;
            CREATE INDEX object_changed ON object (changed);
            CREATE INDEX object_open_moves ON object (object) WHERE other_open_moves IS NOT NULL;

            -- State: the write in force of each property, and the commit that changed it. The key is object * 2^32 +
            -- name.
            CREATE TABLE register (
                register INTEGER PRIMARY KEY,
                object INTEGER GENERATED ALWAYS AS (register >> 32) VIRTUAL,
                name INTEGER GENERATED ALWAYS AS (register & 4294967295) VIRTUAL,
                stamp INTEGER NOT NULL,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                is_removal INTEGER NOT NULL,
                conflict_count INTEGER NOT NULL,
                changed INTEGER NOT NULL
            );

            -- State: the writes not in force. Status 0 is superseded, 1 conflicting. Name 4294967295 stands for an
            -- object's deletions (status 3), and its creations (status 2) if it has several.
            CREATE TABLE version (
                register INTEGER NOT NULL,
                stamp INTEGER NOT NULL,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                status INTEGER NOT NULL,
                PRIMARY KEY (register, stamp, line, sequence, idx)
            ) WITHOUT ROWID;
            CREATE INDEX version_conflict ON version (register, line) WHERE status = 1;

            -- State: all moves.
            CREATE TABLE move (
                stamp INTEGER NOT NULL,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                idx INTEGER NOT NULL,
                object INTEGER NOT NULL,
                parent INTEGER,
                position BLOB NOT NULL,
                effective INTEGER NOT NULL,
                PRIMARY KEY (stamp, line, sequence, idx)
            ) WITHOUT ROWID;
            CREATE INDEX move_object ON move (object, effective, stamp);
            CREATE INDEX move_without_effect ON move (object) WHERE effective = 0;

            -- Devices that were paired here. One that has not come is forgotten at its lapse, in milliseconds since
            -- 1970.
            CREATE TABLE paired_device (
                paired_device INTEGER PRIMARY KEY,
                device BLOB NOT NULL,
                static_key BLOB NOT NULL,
                name TEXT NOT NULL,
                lapse INTEGER
            );

            -- Invites that are open, until milliseconds since 1970.
            CREATE TABLE invite (
                invite INTEGER PRIMARY KEY,
                secret BLOB NOT NULL,
                expiry INTEGER NOT NULL
            );

            -- Where devices were reached, each one's latest address last.
            CREATE TABLE address (
                address INTEGER PRIMARY KEY,
                device BLOB NOT NULL,
                static_key BLOB NOT NULL,
                host TEXT NOT NULL,
                port INTEGER NOT NULL
            );

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
                self.uuid, type.text, kind.text, parent.uuid, lower(hex(line.user)), lower(hex(line.user)),
                (object.created_stamp >> 16) & 281474976710655, (object.updated >> 16) & 281474976710655
            FROM object
            JOIN object_uuid AS self ON self.object = object.object
            LEFT JOIN object_uuid AS parent ON parent.object = object.parent
            LEFT JOIN name AS type ON type.name = object.type
            LEFT JOIN name AS kind ON kind.name = object.kind
            LEFT JOIN line ON line.line = object.created_line
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
            JOIN change ON change.line = register.line AND change.sequence = register.sequence
            JOIN operation ON operation.operation = change.operation + register.idx
            WHERE NOT register.is_removal;

            CREATE VIEW property_write (register, stamp, line, sequence, idx) AS
            SELECT register, stamp, line, sequence, idx FROM register
            UNION ALL
            SELECT register, stamp, line, sequence, idx FROM version WHERE (register & 4294967295) < 4294967295;

            CREATE VIEW property_versions (id, property_id, object_id, name, version, value, author, created_at) AS
            SELECT
                lower(hex(line.replica)) || '-' || write.sequence || '-' || write.idx || '-'
                || lower(hex(substr(change.hash, 1, 8))),
                self.uuid || '/' || name.text, self.uuid, name.text, write.stamp,
                CASE WHEN operation.kind <> 2 OR operation.tag = 4 AND typeof(operation.value) = 'blob' THEN NULL
                    ELSE operation.value END,
                lower(hex(line.user)), (write.stamp >> 16) & 281474976710655
            FROM property_write AS write
            JOIN object_uuid AS self ON self.object = write.register >> 32
            JOIN name ON name.name = write.register & 4294967295
            JOIN line ON line.line = write.line
            JOIN change ON change.line = write.line AND change.sequence = write.sequence
            JOIN operation ON operation.operation = change.operation + write.idx;
            """
    )
}
