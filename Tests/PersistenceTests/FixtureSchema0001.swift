// swift-format-ignore-file

/// A database as the program wrote it when schema 1 was released: the output of `.dump`, never edited.
enum FixtureSchema0001 {
    /// The hash of the last change of the first replica.
    static let head = "b26d39c6f2b2aa53ef397d8dcaf477963d525039be8f968270521f41b56450df"

    /// What the views show.
    static let objects = """
        11223344-5566-4788-0000-000000000001|folder||11223344-5566-4788-0000-000000000002
        11223344-5566-4788-0000-000000000002|note|plain|
        11223344-5566-4788-0000-000000000004|||
        11223344-5566-4788-0000-000000000002|bytes|X'0001FF'
        11223344-5566-4788-0000-000000000002|flag|1
        11223344-5566-4788-0000-000000000002|half|-0.5
        11223344-5566-4788-0000-000000000002|list|'[1,"it''s"]'
        11223344-5566-4788-0000-000000000002|nan|NULL
        11223344-5566-4788-0000-000000000002|none|NULL
        11223344-5566-4788-0000-000000000002|title|'new'
        11223344-5566-4788-0000-000000000004|a|1
        a|1
        bytes|X'0001FF'
        flag|1
        gone|-7
        gone|NULL
        half|-0.5
        list|'[1,"it''s"]'
        nan|NULL
        none|NULL
        title|'other'
        title|'old'
        title|'new'
        """

    static let sql = #"""
        PRAGMA application_id = 1885693298;
        PRAGMA user_version = 1;
        BEGIN TRANSACTION;
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
        INSERT INTO replica VALUES(0,X'9e6966b9d1c9368c01af1a21d5b919ef',X'00000000557365720000000000000000000\#
        00000000000000000000000000001',X'dbd238973a2b148a000000000000000100000000000000000000000000000000','de\#
        vice',X'0000000055736572000000000000000000000000000000000000000000000001066465766963650000000000000001\#
        000000000000000101dbd238973a2b148a0000000000000001000000000000000000000000000000001e535eede31428f00000\#
        00000000000000000000000000000000000000000000ad72cf7047eb4c7abb38fe90c4226e3db451091a61496c2e63e032c9ad\#
        7aaf66e36c041f1c38709927bb9dca3306ffe84a8d6cdb1c25c55ec6e160d173ddda7e',7,X'b26d39c6f2b2aa53ef397d8dca\#
        f477963d525039be8f968270521f41b56450df',111411200000000007,7,111411200000000007,X'0001',NULL,NULL,NULL);
        INSERT INTO replica VALUES(1,X'37f009bbf742ec09605a9f2a74c653fe',X'00000000557365720000000000000000000\#
        00000000000000000000000000001',X'b7a4712c74562914000000000000000300000000000000000000000000000000','de\#
        vice',X'0000000055736572000000000000000000000000000000000000000000000001066465766963650000000000000003\#
        000000000000000101b7a4712c74562914000000000000000300000000000000000000000000000000b6bf613dbebb45dc0000\#
        00000000000000000000000000000000000000000000fb7aaaaf06c7219576032c0af00eb71b41e29044fd6216253a5cfc6ffb\#
        d0a9992f054ae5b9eb404ef5014d6f371c473eb0b34ac61f108e58028c1aa6482a0ccd',1,X'783c9662114e010d9dbc962deb\#
        2a83fc549106c95de211e37865a4be14e92d5d',111411199999672321,1,111411199999672321,X'',NULL,NULL,NULL);
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
            replica INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            UNIQUE (replica, sequence, idx)
        );
        INSERT INTO grant_reference VALUES(0,0,1,0);
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
        INSERT INTO change VALUES(0,1,111411200000000001,0,2,192,X'',0,X'0000000000000001018bcfe568000001',X'4\#
        51c86ebb43eb049b8d212e9ce0257ed39a8a2ed8c7cb899499650baeedbb58f');
        INSERT INTO change VALUES(0,2,111411200000000002,2,2,13,X'',0,X'0000000000000002018bcfe568000002',X'7e\#
        d75917911e3f54f9a9d1a3e681478a3c50c8e8c6dbfedfde47e2bd0cbe6b8a');
        INSERT INTO change VALUES(0,3,111411200000000003,4,8,41,X'',0,X'0000000000000003018bcfe568000003',X'af\#
        b9aff6325c4a0d68c48b0fb891505a63906b15aebee625b6238f23e886e03c');
        INSERT INTO change VALUES(0,4,111411200000000004,12,2,4,X'',0,X'0000000000000004018bcfe568000004',X'2f\#
        2b4c2c509641c0271246b7ddac5bd49fba4077cb10d5cdfb8523c2bee952d9');
        INSERT INTO change VALUES(0,5,111411200000000005,17,1,2,X'0101',0,X'0000000000000005018bcfe568000005',\#
        X'7d2fc3addd8ed34a031c0d8ea6ddaa1ab3301bb45e6e66a10e8747b9109d7518');
        INSERT INTO change VALUES(0,6,111411200000000006,18,1,0,X'',0,X'0000000000000006018bcfe568000006',X'f7\#
        35c565ea59c58d2f40fed2b2d4f21d1a85fdb80ba8240f0cc4e2b98ae1db1a');
        INSERT INTO change VALUES(0,7,111411200000000007,19,2,34,X'',1,X'b4b1380daeeb5c7e98d0af768cbc1299c6dbb\#
        0598cfdbc2d3fccca42b790a804',X'b26d39c6f2b2aa53ef397d8dcaf477963d525039be8f968270521f41b56450df');
        INSERT INTO change VALUES(1,1,111411199999672321,14,3,190,X'',0,X'0000000000000001018bcfe567fb0001',X'\#
        783c9662114e010d9dbc962deb2a83fc549106c95de211e37865a4be14e92d5d');
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
        000000000000000001066465766963650000000000000003000000000000000101b7a4712c7456291400000000000000030000\#
        0000000000000000000000000000b6bf613dbebb45dc000000000000000000000000000000000000000000000000fb7aaaaf06\#
        c7219576032c0af00eb71b41e29044fd6216253a5cfc6ffbd0a9992f054ae5b9eb404ef5014d6f371c473eb0b34ac61f108e58\#
        028c1aa6482a0ccd');
        INSERT INTO operation VALUES(15,2,1,0,NULL,5,'other');
        INSERT INTO operation VALUES(16,4,0,1,NULL,NULL,X'');
        INSERT INTO operation VALUES(17,200,NULL,NULL,NULL,NULL,X'0908');
        INSERT INTO operation VALUES(18,5,2,NULL,NULL,NULL,NULL);
        INSERT INTO operation VALUES(19,2,3,12,NULL,3,1);
        INSERT INTO operation VALUES(20,0,NULL,NULL,NULL,NULL,X'0fb98057a92d7f14e7e2a1849817b10cd5b267c37c8ada\#
        19f0e6fcc216ea9526');
        CREATE TABLE run_signature (
            replica INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            operation_count INTEGER NOT NULL,
            payload_byte_count INTEGER NOT NULL,
            signature BLOB NOT NULL,
            PRIMARY KEY (replica, sequence)
        ) WITHOUT ROWID;
        INSERT INTO run_signature VALUES(0,7,18,286,X'f9485ee16417612471cba5e554ae0c4fb4308433bc6aaa71ec319741\#
        d1add7cd1a1c8e2fd67f0b2e32fe06017849e26bd12009f69eaa33bb827dc773f1f62ec5');
        INSERT INTO run_signature VALUES(1,1,3,190,X'95c189a22830616a5470fd98e75e4189474a8db5088872675b9e616d2\#
        aede6b444637220af3bddf4a4f476e3b24922acf3c1026988d6a30ccce12c7730d6a8f9');
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
        INSERT INTO object VALUES(0,X'11223344556647880000000000000001',111411200000000001,0,1,1,8,9,X'0082800\#
        8000183800800',111411200000000001,1,X'',0,0,1);
        INSERT INTO object VALUES(1,X'11223344556647880000000000000002',111411200000000002,0,2,0,10,11,X'00828\#
        020000182800800',111411200000000004,NULL,X'',1,1,1);
        INSERT INTO object VALUES(2,X'11223344556647880000000000000003',NULL,NULL,NULL,NULL,NULL,NULL,X'',1114\#
        11200000000006,NULL,X'',0,0,0);
        INSERT INTO object VALUES(3,X'11223344556647880000000000000004',NULL,NULL,NULL,NULL,NULL,NULL,X'008180\#
        3800',111411200000000007,NULL,X'',0,0,1);
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
        INSERT INTO register VALUES(4294967296,111411200000000004,0,4,0,0,1);
        INSERT INTO register VALUES(4294967297,111411200000000004,0,4,1,1,0);
        INSERT INTO register VALUES(4294967298,111411200000000003,0,3,2,0,0);
        INSERT INTO register VALUES(4294967299,111411200000000003,0,3,3,0,0);
        INSERT INTO register VALUES(4294967300,111411200000000003,0,3,4,0,0);
        INSERT INTO register VALUES(4294967301,111411200000000003,0,3,5,0,0);
        INSERT INTO register VALUES(4294967302,111411200000000003,0,3,6,0,0);
        INSERT INTO register VALUES(4294967303,111411200000000003,0,3,7,0,0);
        INSERT INTO register VALUES(12884901900,111411200000000007,0,7,0,0,0);
        CREATE TABLE version (
            register INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            replica INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            status INTEGER NOT NULL,
            PRIMARY KEY (register, stamp, replica, sequence, idx)
        ) WITHOUT ROWID;
        INSERT INTO version VALUES(4294967296,111411199999672321,1,1,1,1);
        INSERT INTO version VALUES(4294967296,111411200000000003,0,3,0,0);
        INSERT INTO version VALUES(4294967297,111411200000000003,0,3,1,0);
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
        INSERT INTO move VALUES(111411199999672321,1,1,2,0,1,X'',1);
        INSERT INTO move VALUES(111411200000000002,0,2,1,1,0,X'6130',0);
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
        CREATE TABLE snapshots (
            id TEXT PRIMARY KEY,
            object_id TEXT NOT NULL,
            snapshot BLOB NOT NULL,
            created_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX object_place ON object (parent, position);
        CREATE INDEX version_conflict ON version (register) WHERE status = 1;
        CREATE INDEX move_object ON move (object, effective, stamp);
        CREATE INDEX move_without_effect ON move (object) WHERE effective = 0;
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
        COMMIT;
        """#
}
