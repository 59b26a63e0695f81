// swift-format-ignore-file

/// The same database as the program wrote it when schema 3 was released: the output of `.dump`, never edited.
enum FixtureSchema0003 {
    static let sql = #"""
        PRAGMA application_id = 1885693298;
        PRAGMA user_version = 3;
        BEGIN TRANSACTION;
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
        INSERT INTO line VALUES(0,X'9e6966b9d1c9368c01af1a21d5b919ef',X'00000000557365720000000000000000000000\#
        00000000000000000000000001',X'dbd238973a2b148a000000000000000100000000000000000000000000000000','devic\#
        e',X'0000000055736572000000000000000000000000000000000000000000000001066465766963650000000000000001000\#
        000000000000101dbd238973a2b148a0000000000000001000000000000000000000000000000001e535eede31428f00000000\#
        00000000000000000000000000000000000000000ad72cf7047eb4c7abb38fe90c4226e3db451091a61496c2e63e032c9ad7aa\#
        f66e36c041f1c38709927bb9dca3306ffe84a8d6cdb1c25c55ec6e160d173ddda7e',NULL,NULL,NULL,NULL,7,X'fe058390a\#
        a9ef548941bbe8aa66d3a6502b48cf82953612c0f51652e152aa3bf',7,111411200000000007,X'',5,1,NULL);
        INSERT INTO line VALUES(1,X'6f8f87d6e9b01ef620031247d7febd66',X'00000000557365720000000000000000000000\#
        00000000000000000000000001',X'1e535eede31428f0000000000000000200000000000000000000000000000000','devic\#
        e',X'0000000055736572000000000000000000000000000000000000000000000001066465766963650000000000000002000\#
        0000000000001011e535eede31428f0000000000000000200000000000000000000000000000000b7a4712c745629140000000\#
        000000000000000000000000000000000000000006dccf19cbaa9b95b9afdf484499932e79ed40ac26a8a5b7235fa3a53b8cfc\#
        1e3c341152b4c94d9dcaa4a57d37f2e09a064ca134e96feef259dab0bc50e416f71',NULL,NULL,NULL,NULL,2,X'19f061ca9\#
        6c299de883562448a8d50178a2ac68387fdcd3b96d3d8bcf8100635',2,111411200000000006,X'04000105',0,0,2);
        INSERT INTO line VALUES(2,X'9e6966b9d1c9368c01af1a21d5b919ef',X'00000000557365720000000000000000000000\#
        00000000000000000000000001',X'dbd238973a2b148a000000000000000100000000000000000000000000000000','devic\#
        e',X'0000000055736572000000000000000000000000000000000000000000000001066465766963650000000000000001000\#
        000000000000101dbd238973a2b148a0000000000000001000000000000000000000000000000001e535eede31428f00000000\#
        00000000000000000000000000000000000000000ad72cf7047eb4c7abb38fe90c4226e3db451091a61496c2e63e032c9ad7aa\#
        f66e36c041f1c38709927bb9dca3306ffe84a8d6cdb1c25c55ec6e160d173ddda7e',0,4,X'42595bfdf259c5f8d1497dbc37c\#
        ea25e9e05b0cb484d1a8cf931ce90f70c2b0d',X'22aa204c3160217801d2fb76ba625383dad6de9c1dd99374d3773d300856a\#
        101',5,X'42595bfdf259c5f8d1497dbc37cea25e9e05b0cb484d1a8cf931ce90f70c2b0d',5,111411200000000005,X'',0,0,5);
        CREATE TABLE name (
            name INTEGER PRIMARY KEY,
            text TEXT NOT NULL UNIQUE
        );
        INSERT INTO name VALUES(0,'title');
        INSERT INTO name VALUES(1,'gone');
        INSERT INTO name VALUES(2,'half');
        INSERT INTO name VALUES(3,'flag');
        INSERT INTO name VALUES(4,'none');
        INSERT INTO name VALUES(5,'list');
        INSERT INTO name VALUES(6,'bytes');
        INSERT INTO name VALUES(7,'nan');
        INSERT INTO name VALUES(8,'folder');
        INSERT INTO name VALUES(9,'');
        INSERT INTO name VALUES(10,'note');
        INSERT INTO name VALUES(11,'plain');
        INSERT INTO name VALUES(12,'a');
        CREATE TABLE grant_reference (
            grant_reference INTEGER PRIMARY KEY,
            replica BLOB NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            UNIQUE (replica, sequence, idx)
        );
        INSERT INTO grant_reference VALUES(0,X'9e6966b9d1c9368c01af1a21d5b919ef',1,0);
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
        INSERT INTO change VALUES(0,1,111411200000000001,0,2,192,X'',0,X'0000000000000001018bcfe568000001',X'4\#
        51c86ebb43eb049b8d212e9ce0257ed39a8a2ed8c7cb899499650baeedbb58f');
        INSERT INTO change VALUES(0,2,111411200000000002,2,2,13,X'',0,X'0000000000000002018bcfe568000002',X'7e\#
        d75917911e3f54f9a9d1a3e681478a3c50c8e8c6dbfedfde47e2bd0cbe6b8a');
        INSERT INTO change VALUES(0,3,111411200000000003,4,8,41,X'',0,X'0000000000000003018bcfe568000003',X'af\#
        b9aff6325c4a0d68c48b0fb891505a63906b15aebee625b6238f23e886e03c');
        INSERT INTO change VALUES(0,4,111411200000000004,12,2,4,X'',0,X'0000000000000004018bcfe568000004',X'2f\#
        2b4c2c509641c0271246b7ddac5bd49fba4077cb10d5cdfb8523c2bee952d9');
        INSERT INTO change VALUES(0,5,111411200000000005,17,1,2,X'0201dd2b130e32c795b9',0,X'000000000000000501\#
        8bcfe568000005',X'22aa204c3160217801d2fb76ba625383dad6de9c1dd99374d3773d300856a101');
        INSERT INTO change VALUES(0,6,111411200000000006,18,1,0,X'',0,X'0000000000000006018bcfe568000006',X'd5\#
        3260ca1cfc1de364099ccfc6807e014c4e4bb450764b1238a367b489ace4f7');
        INSERT INTO change VALUES(0,7,111411200000000007,19,2,34,X'',1,X'b4b1380daeeb5c7e98d0af768cbc1299',X'f\#
        e058390aa9ef548941bbe8aa66d3a6502b48cf82953612c0f51652e152aa3bf');
        INSERT INTO change VALUES(1,1,111411199999672321,14,3,190,X'',0,X'0000000000000001018bcfe567fb0001',X'\#
        dd2b130e32c795b902582512c43c1a243cb9e76cf40fa630a31678a923f70782');
        INSERT INTO change VALUES(1,2,111411199999672322,23,1,50,X'010542595bfdf259c5f8',0,X'00000000000000020\#
        18bcfe567fb0002',X'19f061ca96c299de883562448a8d50178a2ac68387fdcd3b96d3d8bcf8100635');
        INSERT INTO change VALUES(2,5,111411203932160001,21,2,7,X'',0,X'0000000000000005018bcfe652600001',X'42\#
        595bfdf259c5f8d1497dbc37cea25e9e05b0cb484d1a8cf931ce90f70c2b0d');
        CREATE TABLE operation (
            operation INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            object INTEGER,
            operand INTEGER,
            grant_reference INTEGER,
            tag INTEGER,
            value
        );
        INSERT INTO operation VALUES(0,6,NULL,NULL,NULL,NULL,X'00000000557365720000000000000000000000000000000\#
        00000000000000001066465766963650000000000000001000000000000000101dbd238973a2b148a000000000000000100000\#
        0000000000000000000000000001e535eede31428f0000000000000000000000000000000000000000000000000ad72cf7047e\#
        b4c7abb38fe90c4226e3db451091a61496c2e63e032c9ad7aaf66e36c041f1c38709927bb9dca3306ffe84a8d6cdb1c25c55ec\#
        6e160d173ddda7e');
        INSERT INTO operation VALUES(1,1,0,8,NULL,NULL,9);
        INSERT INTO operation VALUES(2,1,1,10,NULL,NULL,11);
        INSERT INTO operation VALUES(3,4,1,0,NULL,NULL,X'6130');
        INSERT INTO operation VALUES(4,2,1,0,NULL,5,'old');
        INSERT INTO operation VALUES(5,2,1,1,NULL,3,-7);
        INSERT INTO operation VALUES(6,2,1,2,NULL,4,-0.5);
        INSERT INTO operation VALUES(7,2,1,3,NULL,2,1);
        INSERT INTO operation VALUES(8,2,1,4,NULL,0,NULL);
        INSERT INTO operation VALUES(9,2,1,5,NULL,6,'[1,"it''s"]');
        INSERT INTO operation VALUES(10,2,1,6,NULL,7,X'0001ff');
        INSERT INTO operation VALUES(11,2,1,7,NULL,4,X'fff8000000000001');
        INSERT INTO operation VALUES(12,2,1,0,0,5,'new');
        INSERT INTO operation VALUES(13,3,1,1,0,NULL,NULL);
        INSERT INTO operation VALUES(14,6,NULL,NULL,NULL,NULL,X'0000000055736572000000000000000000000000000000\#
        0000000000000000010664657669636500000000000000020000000000000001011e535eede31428f000000000000000020000\#
        0000000000000000000000000000b7a4712c745629140000000000000000000000000000000000000000000000006dccf19cba\#
        a9b95b9afdf484499932e79ed40ac26a8a5b7235fa3a53b8cfc1e3c341152b4c94d9dcaa4a57d37f2e09a064ca134e96feef25\#
        9dab0bc50e416f71');
        INSERT INTO operation VALUES(15,2,1,0,NULL,5,'other');
        INSERT INTO operation VALUES(16,4,0,1,NULL,NULL,X'');
        INSERT INTO operation VALUES(17,200,NULL,NULL,NULL,NULL,X'0908');
        INSERT INTO operation VALUES(18,5,2,NULL,NULL,NULL,NULL);
        INSERT INTO operation VALUES(19,2,3,12,NULL,3,1);
        INSERT INTO operation VALUES(20,0,NULL,NULL,NULL,NULL,X'0fb98057a92d7f14e7e2a1849817b10cd5b267c37c8ada\#
        19f0e6fcc216ea9526');
        INSERT INTO operation VALUES(21,2,1,0,NULL,5,'branch');
        INSERT INTO operation VALUES(22,4,1,NULL,NULL,NULL,X'');
        INSERT INTO operation VALUES(23,7,NULL,NULL,NULL,NULL,X'9e6966b9d1c9368c01af1a21d5b919ef050542595bfdf2\#
        59c5f8d1497dbc37cea25e9e05b0cb484d1a8cf931ce90f70c2b0d');
        CREATE TABLE run_signature (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            operation_count INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            signature BLOB NOT NULL,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        INSERT INTO run_signature VALUES(0,7,18,286,X'6db5ddec160c45e42ebd91bf381b93f2286de83381e24c997c7b997f\#
        b0293de22b17bbacd0a3f54069b1f5ba617bec192b5e6659c39aa33261543fc648a9f719');
        INSERT INTO run_signature VALUES(1,2,4,240,X'8143914f652fc92f15c28f803d28c67bf3f3d20afcb8602228d717d5e\#
        4efd4c71c82b5a1c197c0affe8f5c7ae208ba4cbc97fee9c8c5c52f6ff9d8e48a3488a7');
        INSERT INTO run_signature VALUES(2,5,2,7,X'bedb9a0b0610cdd8471ac01a682dfe100efbba0034a691891661d3d29c6\#
        9b8922b8331c983422bf909287ac65dc6b974bd6ecceec23fb3610624de3784077072');
        CREATE TABLE restamp (
            restamp INTEGER PRIMARY KEY,
            author_line INTEGER NOT NULL,
            replica BLOB NOT NULL,
            first_sequence INTEGER NOT NULL,
            last_sequence INTEGER NOT NULL,
            last_hash BLOB NOT NULL,
            is_settled INTEGER NOT NULL DEFAULT 0
        );
        INSERT INTO restamp VALUES(1,1,X'9e6966b9d1c9368c01af1a21d5b919ef',5,5,X'42595bfdf259c5f8d1497dbc37cea\#
        25e9e05b0cb484d1a8cf931ce90f70c2b0d',1);
        CREATE TABLE raised (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            cause_line INTEGER,
            cause_sequence INTEGER,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        INSERT INTO raised VALUES(1,2,111411200000000006,2,5);
        INSERT INTO raised VALUES(2,5,111411200000000005,0,4);
        CREATE TABLE checkpoint (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            number INTEGER NOT NULL,
            base INTEGER NOT NULL,
            additions BLOB NOT NULL,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        INSERT INTO checkpoint VALUES(0,5,1,0,X'000101');
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
        , uuid TEXT GENERATED ALWAYS AS (lower(
            substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
            || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21))) VIRTUAL);
        INSERT INTO object VALUES(0,X'11223344556647880000000000000001',111411200000000001,0,1,1,8,9,X'0082800\#
        8000183800800',111411200000000001,1,X'',1,1,2,NULL,0,0,1,1,1,0,1);
        INSERT INTO object VALUES(1,X'11223344556647880000000000000002',111411200000000002,0,2,0,10,11,X'01828\#
        0080000828020000282802800',111411200000000005,NULL,X'',2,5,1,NULL,1,1,1,1,1,0,1);
        INSERT INTO object VALUES(2,X'11223344556647880000000000000003',NULL,NULL,NULL,NULL,NULL,NULL,X'',1114\#
        11200000000006,NULL,X'',NULL,NULL,NULL,NULL,0,0,0,1,1,0,1);
        INSERT INTO object VALUES(3,X'11223344556647880000000000000004',NULL,NULL,NULL,NULL,NULL,NULL,X'008180\#
        3800',111411200000000007,NULL,X'',NULL,NULL,NULL,NULL,0,0,1,1,1,0,1);
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
        , write_count INTEGER NOT NULL DEFAULT 0);
        INSERT INTO register VALUES(4294967296,111411200000000005,2,5,0,0,1,1,4);
        INSERT INTO register VALUES(4294967297,111411200000000004,0,4,1,1,0,1,2);
        INSERT INTO register VALUES(4294967298,111411200000000003,0,3,2,0,0,1,1);
        INSERT INTO register VALUES(4294967299,111411200000000003,0,3,3,0,0,1,1);
        INSERT INTO register VALUES(4294967300,111411200000000003,0,3,4,0,0,1,1);
        INSERT INTO register VALUES(4294967301,111411200000000003,0,3,5,0,0,1,1);
        INSERT INTO register VALUES(4294967302,111411200000000003,0,3,6,0,0,1,1);
        INSERT INTO register VALUES(4294967303,111411200000000003,0,3,7,0,0,1,1);
        INSERT INTO register VALUES(12884901900,111411200000000007,0,7,0,0,0,1,1);
        CREATE TABLE version (
            register INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            status INTEGER NOT NULL,
            PRIMARY KEY (register, stamp, line, sequence, idx)
        ) WITHOUT ROWID;
        INSERT INTO version VALUES(4294967296,111411199999672321,1,1,1,1);
        INSERT INTO version VALUES(4294967296,111411200000000003,0,3,0,0);
        INSERT INTO version VALUES(4294967296,111411200000000004,0,4,0,0);
        INSERT INTO version VALUES(4294967297,111411200000000003,0,3,1,0);
        INSERT INTO version VALUES(12884901887,111411200000000006,0,6,0,3);
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
        INSERT INTO move VALUES(111411199999672321,1,1,2,0,1,X'',1);
        INSERT INTO move VALUES(111411200000000002,0,2,1,1,0,X'6130',0);
        INSERT INTO move VALUES(111411200000000005,2,5,1,1,NULL,X'',1);
        CREATE TABLE paired_device (
            paired_device INTEGER PRIMARY KEY,
            device BLOB NOT NULL,
            static_key BLOB NOT NULL,
            name TEXT NOT NULL,
            lapse INTEGER
        );
        INSERT INTO paired_device VALUES(1,X'0000000000000005000000000000000600000000000000070000000000000008'\#
        ,X'0000000000000001000000000000000200000000000000030000000000000004','phone',1700000600000);
        CREATE TABLE invite (
            invite INTEGER PRIMARY KEY,
            secret BLOB NOT NULL,
            expiry INTEGER NOT NULL
        );
        INSERT INTO invite VALUES(1,X'0000000000000009000000000000000900000000000000090000000000000009',170000\#
        0600000);
        CREATE TABLE address (
            address INTEGER PRIMARY KEY,
            device BLOB NOT NULL,
            static_key BLOB NOT NULL,
            host TEXT NOT NULL,
            port INTEGER NOT NULL
        );
        INSERT INTO address VALUES(1,X'0000000000000005000000000000000600000000000000070000000000000008',X'000\#
        0000000000001000000000000000200000000000000030000000000000004','192.0.2.1',4242);
        CREATE TABLE fact (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO fact VALUES('origin',X'20929e043bda21afa0862981bd72f9576b36ce93d6cc10240267646950e786ec');
        CREATE TABLE permissions (
            id TEXT PRIMARY KEY,
            object_id TEXT,
            property_name TEXT,
            user_id TEXT NOT NULL,
            can_read INTEGER NOT NULL,
            can_write INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE remembered_write (
            remembered_write INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            content BLOB NOT NULL,
            created BLOB NOT NULL
        );
        INSERT INTO remembered_write VALUES(1,'none',X'0000000000000001000000000000000200000000000000030000000\#
        000000004',X'');
        INSERT INTO remembered_write VALUES(2,'two',X'00000000000000010000000000000002000000000000000300000000\#
        00000004',X'1122334455664788000000000000000211223344556647880000000000000004');
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
        CREATE INDEX line_replica ON line (replica);
        CREATE INDEX raised_cause ON raised (cause_line, cause_sequence);
        CREATE INDEX object_place ON object (parent, position);
        CREATE INDEX object_type ON object (type, id) WHERE visible;
        CREATE INDEX object_changed ON object (changed);
        CREATE INDEX object_open_moves ON object (object) WHERE other_open_moves IS NOT NULL;
        CREATE INDEX version_conflict ON version (register, line) WHERE status = 1;
        CREATE INDEX move_object ON move (object, effective, stamp);
        CREATE INDEX move_without_effect ON move (object) WHERE effective = 0;
        CREATE UNIQUE INDEX object_uuid ON object (uuid);
        CREATE INDEX register_name ON register (name);
        CREATE INDEX move_parent ON move (parent, object);
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
        COMMIT;
        """#
}
