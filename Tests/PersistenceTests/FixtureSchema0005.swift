// swift-format-ignore-file

/// A database as the program wrote it when schema 5 was new: a branch with edits that are not merged, an empty one,
/// dropped writes and an erasure. The output of `.dump`, never edited.
enum FixtureSchema0005 {
    /// What the views show.
    static let objects = """
        37f4bef9-acb5-8466-b45e-2a8511de736a|folder||
        f1e382d7-2d91-8283-8fb6-4703f5c29a89|note||37f4bef9-acb5-8466-b45e-2a8511de736a
        37f4bef9-acb5-8466-b45e-2a8511de736a|title|'trip'|1
        f1e382d7-2d91-8283-8fb6-4703f5c29a89|n|7|5
        f1e382d7-2d91-8283-8fb6-4703f5c29a89|title|'public'|7
        title|'trip'
        n|1
        n|4
        n|7
        title|'public'
        """

    static let sql = #"""
        PRAGMA application_id = 1885693298;
        PRAGMA user_version = 5;
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
        , timeline BLOB, merged_sequence INTEGER NOT NULL DEFAULT 0);
        INSERT INTO line VALUES(0,X'02db3f062b04672175628926a7dc5026',X'b121e6cea93ae5c94c249b2eb9ff6b9ba892d04be330\#
        630e5a6d880b7807c25f',X'bb2a750c7b4650e90db03a09eb0cb4632594ed1143b602c3301e40bcc7a81133','laptop',X'b121e6c\#
        ea93ae5c94c249b2eb9ff6b9ba892d04be330630e5a6d880b7807c25f066c6170746f7077edc60a1203a3c830572dcef3b9eb8201bb2\#
        a750c7b4650e90db03a09eb0cb4632594ed1143b602c3301e40bcc7a811336db74bc3028294f4930202b6a403cd2a11f3a1b6963241e\#
        33b997ccb78c0ce347f49a328d07defd304113ea53e49ea42bb90c9df1f78be05983c3c1a8a5b0caa0e57343a33181404ecfa357df67\#
        915ebccd6750eb916722a031ee7d5ac65ed04',NULL,NULL,NULL,NULL,12,X'f6293c16a4466bd6db777451ac325d1be5f530899cee\#
        48a14658b7bfbf2f6968',12,117677211507687424,X'',0,0,NULL,NULL,0);
        INSERT INTO line VALUES(1,X'da86adbf951d9d28df4ab6e3716c7777',X'b121e6cea93ae5c94c249b2eb9ff6b9ba892d04be330\#
        630e5a6d880b7807c25f',X'bb2a750c7b4650e90db03a09eb0cb4632594ed1143b602c3301e40bcc7a81133','laptop',X'b121e6c\#
        ea93ae5c94c249b2eb9ff6b9ba892d04be330630e5a6d880b7807c25f066c6170746f70fb0c685c51cf3f67b7a9aba302d90c7a01bb2\#
        a750c7b4650e90db03a09eb0cb4632594ed1143b602c3301e40bcc7a811336db74bc3028294f4930202b6a403cd2a11f3a1b6963241e\#
        33b997ccb78c0ce347f49a328d07defd304113ea53e49ea42bb90c9df1f78be05983c3c1a8a5b0caa0e57343a33181404ecfa357df67\#
        915ebccd6750eb916722a031ee7d5ac65ed04',NULL,NULL,NULL,NULL,3,X'512c243b14b35d6ddf5f9b399bf5073790845cb77d5e5\#
        b45203af3b5abe6bd16',3,117677211432452096,X'06',0,0,NULL,X'582a4102e71681c4ae80d0bec3ef75be',0);
        CREATE TABLE name (
            name INTEGER PRIMARY KEY,
            text TEXT NOT NULL UNIQUE
        );
        INSERT INTO name VALUES(0,'title');
        INSERT INTO name VALUES(1,'folder');
        INSERT INTO name VALUES(2,'');
        INSERT INTO name VALUES(3,'n');
        INSERT INTO name VALUES(4,'note');
        CREATE TABLE grant_reference (
            grant_reference INTEGER PRIMARY KEY,
            replica BLOB NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            UNIQUE (replica, sequence, idx)
        );
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
            hash BLOB NOT NULL, spent BLOB,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        INSERT INTO change VALUES(0,1,117677211356954624,0,1,272,X'',0,X'b4e7c0cbc5e7520e8fb52e2e2b87b3b4',X'6ac4879\#
        bfa518b1b630a2f171c4538df07c07a13f1f5134fa0789a789c9d4c5f',NULL);
        INSERT INTO change VALUES(0,2,117677211356954625,1,3,222,X'',0,X'40ae7e1027541c1c2b2ac10d3504e647',X'23d75fa\#
        0699246bd2804bf1c27cbdf488cd6ed9ea56be4e3e201cbc2fff78b00',NULL);
        INSERT INTO change VALUES(0,3,117677211367833600,4,4,340,X'',1,X'67864dd082d124c816632337d94ea749e69a419e40f\#
        3ed162e2fc18be8d1c05cd29850ca072f775c31c9d8f237111788',X'252ab0f2cc3a8e9605b551898b3e94124092908fe754cca9771\#
        7de0332fc7e1a',NULL);
        INSERT INTO change VALUES(0,4,117677211377401856,8,2,154,X'',2,X'fde5d97ff5c31ae2f3cb4b1a8fd8bc48200021457ef\#
        c220ba7c2c8c3d6e11e8d',X'49f1fc37589271a9f0ce49af756f4da37579ad034e67e017fee4e871f23b76f9',X'01030100');
        INSERT INTO change VALUES(0,5,117677211386642432,10,2,154,X'',2,X'73ff1b25fa7def9335a5966f6419030ebb55d1ff9c\#
        d055606b351acffa79a8cd',X'47276b316ba05a29c48db5453dd9f8ad4d34f30abbe0d18faea041231d4c2a5b',X'01030100');
        INSERT INTO change VALUES(0,6,117677211394572288,12,2,204,X'',1,X'e8983ca7e3ad1370c67ea45b227a540b',X'f311cf\#
        a213a21a33c5315c943308c87c3ff522a5fc01fc6112dd2bac841a4f4a',NULL);
        INSERT INTO change VALUES(0,7,117677211405058048,14,1,162,X'',0,X'e464e0b7d4ca681f00b39b8fa515e95e',X'0cb9b1\#
        31040bcb5a0373f89c0d9936ddac8bc77493ed57a2d0f604a997384682',NULL);
        INSERT INTO change VALUES(0,8,117677211468300288,19,1,111,X'',2,X'65c726fc17be25825b765a623a8f4bd4e7c30743ad\#
        8465202c8425a0daa0e0d5',X'1bb2b1e7b7a63fde208a405e5f2436dbe1cc607dfad16fc24c26079de753cdf2',X'0100');
        INSERT INTO change VALUES(0,9,117677211478130688,20,1,111,X'',2,X'9ecfe18d63f2c6842bf7e82820fab269ff4ca449d7\#
        6fe9440b83885015392bd0',X'32575c1d78913a5f04898f83907f07f6763b2fc1fd23ac6551ac10d8b1a69c30',X'0100');
        INSERT INTO change VALUES(0,10,117677211487043584,21,2,164,X'',0,X'1198b1ede13de54b7b4128bc02b25a5b',X'f3762\#
        e64a1ca1938c98010d29ea0f5ec1dde010b918d38261459a233aaad2d00',NULL);
        INSERT INTO change VALUES(0,11,117677211498840064,23,1,162,X'',0,X'c11706e483f1acbcd4ac26b76c24507e',X'd0bf6\#
        6e3e02d5c55710e0b010324a08e25dd2004bacdc6e771d0d63ec7c6696f',NULL);
        INSERT INTO change VALUES(0,12,117677211507687424,24,1,109,X'',0,X'92d41a80c7f0e83ade6b5ea52729dba6',X'f6293\#
        c16a4466bd6db777451ac325d1be5f530899cee48a14658b7bfbf2f6968',NULL);
        INSERT INTO change VALUES(1,1,117677211422031872,15,2,313,X'',0,X'5d5ae8fac3fe37fd3ad81fbbd1495dac',X'b89b30\#
        7dfe72d0c919c446ba2cad8b419f8399a7fdd524abb1af36db1fe27530',NULL);
        INSERT INTO change VALUES(1,2,117677211422031873,17,1,160,X'0106f311cfa213a21a33',0,X'a8a0516e29260e3bf7ca76\#
        0870061ff6',X'bd503ee544339a4af6a71c1a519788e658250ea812b6735872ae9a2cb1809249',NULL);
        INSERT INTO change VALUES(1,3,117677211432452096,18,1,122,X'',0,X'd265fb3c0a345e67796a21472e6bacad',X'512c24\#
        3b14b35d6ddf5f9b399bf5073790845cb77d5e5b45203af3b5abe6bd16',NULL);
        CREATE TABLE operation (
            operation INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            object INTEGER,
            operand INTEGER,
            grant_reference INTEGER,
            tag INTEGER,
            value
        );
        INSERT INTO operation VALUES(0,6,NULL,NULL,NULL,NULL,X'b121e6cea93ae5c94c249b2eb9ff6b9ba892d04be330630e5a6d8\#
        80b7807c25f066c6170746f7077edc60a1203a3c830572dcef3b9eb8201bb2a750c7b4650e90db03a09eb0cb4632594ed1143b602c33\#
        01e40bcc7a811336db74bc3028294f4930202b6a403cd2a11f3a1b6963241e33b997ccb78c0ce347f49a328d07defd304113ea53e49e\#
        a42bb90c9df1f78be05983c3c1a8a5b0caa0e57343a33181404ecfa357df67915ebccd6750eb916722a031ee7d5ac65ed04');
        INSERT INTO operation VALUES(1,1,0,1,NULL,NULL,2);
        INSERT INTO operation VALUES(2,4,0,NULL,NULL,NULL,X'6130');
        INSERT INTO operation VALUES(3,2,0,0,NULL,5,'trip');
        INSERT INTO operation VALUES(4,1,1,4,NULL,NULL,2);
        INSERT INTO operation VALUES(5,4,1,0,NULL,NULL,X'6130');
        INSERT INTO operation VALUES(6,2,1,3,NULL,3,1);
        INSERT INTO operation VALUES(7,255,1,0,NULL,NULL,X'aa2aa780b88c2bbf7c088dd3fe192bec5cd3ffe1e65c312eb4d20a366\#
        1951054');
        INSERT INTO operation VALUES(12,2,1,3,NULL,3,4);
        INSERT INTO operation VALUES(13,255,1,0,NULL,NULL,X'54a9814300be43f48026778fc8c70082481abd9d92ab91b0ab817cc7\#
        ab1a1db0');
        INSERT INTO operation VALUES(14,9,NULL,NULL,NULL,NULL,X'01582a4102e71681c4ae80d0bec3ef75be000564726166740102\#
        db3f062b04672175628926a7dc502606f311cfa213a21a33c5315c943308c87c3ff522a5fc01fc6112dd2bac841a4f4a');
        INSERT INTO operation VALUES(15,6,NULL,NULL,NULL,NULL,X'b121e6cea93ae5c94c249b2eb9ff6b9ba892d04be330630e5a6d\#
        880b7807c25f066c6170746f70fb0c685c51cf3f67b7a9aba302d90c7a01bb2a750c7b4650e90db03a09eb0cb4632594ed1143b602c3\#
        301e40bcc7a811336db74bc3028294f4930202b6a403cd2a11f3a1b6963241e33b997ccb78c0ce347f49a328d07defd304113ea53e49\#
        ea42bb90c9df1f78be05983c3c1a8a5b0caa0e57343a33181404ecfa357df67915ebccd6750eb916722a031ee7d5ac65ed04');
        INSERT INTO operation VALUES(16,9,NULL,NULL,NULL,NULL,X'00582a4102e71681c4ae80d0bec3ef75be');
        INSERT INTO operation VALUES(17,2,1,0,NULL,5,'onbranch');
        INSERT INTO operation VALUES(18,4,1,NULL,NULL,NULL,X'6131');
        INSERT INTO operation VALUES(21,10,NULL,NULL,NULL,NULL,X'f1e382d72d9182838fb64703f5c29a89057469746c65');
        INSERT INTO operation VALUES(22,2,1,0,NULL,5,'public');
        INSERT INTO operation VALUES(23,9,NULL,NULL,NULL,NULL,X'018c1255704dfe8a1eadbab7d358de24dc00056f746865720102\#
        db3f062b04672175628926a7dc50260af3762e64a1ca1938c98010d29ea0f5ec1dde010b918d38261459a233aaad2d00');
        INSERT INTO operation VALUES(24,2,1,3,NULL,3,7);
        CREATE TABLE run_signature (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            operation_count INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            signature BLOB NOT NULL,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        INSERT INTO run_signature VALUES(0,12,21,2070,X'18e63d32a20037ef003e6d9d266f86a9fca06f0293b0a7c182176e853823\#
        03d2f53783ad0164c677b15ebb475ef58ba1a0fb08c6305a79cbcbe860aeff9d290b');
        INSERT INTO run_signature VALUES(1,3,4,595,X'0d0c08d7e7a11452a08b253a259552c04a5ea49f7b8667df3a477d240ee8876\#
        54e152d9a005640a746c9bb46b92a0a9af894419eebbc40cb730350153dd1be0a');
        CREATE TABLE restamp (
            restamp INTEGER PRIMARY KEY,
            author_line INTEGER NOT NULL,
            replica BLOB NOT NULL,
            first_sequence INTEGER NOT NULL,
            last_sequence INTEGER NOT NULL,
            last_hash BLOB NOT NULL,
            is_settled INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE raised (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            cause_line INTEGER,
            cause_sequence INTEGER,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
        CREATE TABLE checkpoint (
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            number INTEGER NOT NULL,
            base INTEGER NOT NULL,
            additions BLOB NOT NULL,
            PRIMARY KEY (line, sequence)
        ) WITHOUT ROWID;
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
        INSERT INTO object VALUES(0,X'37f4bef9acb58466b45e2a8511de736a',117677211356954625,0,2,0,1,2,X'0083801000',1\#
        17677211356954625,NULL,X'6130',0,2,1,NULL,1,1,1,2,1,0,1);
        INSERT INTO object VALUES(1,X'f1e382d72d9182838fb64703f5c29a89',117677211367833600,0,3,0,4,2,X'0081806000',1\#
        17677211507687424,0,X'6130',0,3,1,NULL,0,0,1,9,2,0,2);
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
        INSERT INTO register VALUES(0,117677211356954625,0,2,2,0,0,1,1);
        INSERT INTO register VALUES(4294967296,117677211487043584,0,10,1,0,0,8,7);
        INSERT INTO register VALUES(4294967299,117677211507687424,0,12,0,0,0,9,5);
        CREATE TABLE version (
            register INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            status INTEGER NOT NULL,
            PRIMARY KEY (register, stamp, line, sequence, idx)
        ) WITHOUT ROWID;
        INSERT INTO version VALUES(4294967299,117677211367833600,0,3,2,0);
        INSERT INTO version VALUES(4294967299,117677211394572288,0,6,0,0);
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
        INSERT INTO move VALUES(117677211356954625,0,2,1,0,NULL,X'6130',1);
        INSERT INTO move VALUES(117677211367833600,0,3,1,1,0,X'6130',1);
        CREATE TABLE paired_device (
            paired_device INTEGER PRIMARY KEY,
            device BLOB NOT NULL,
            static_key BLOB NOT NULL,
            name TEXT NOT NULL,
            lapse INTEGER
        );
        CREATE TABLE invite (
            invite INTEGER PRIMARY KEY,
            secret BLOB NOT NULL,
            expiry INTEGER NOT NULL
        );
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
        INSERT INTO fact VALUES('active-replica',X'02db3f062b04672175628926a7dc5026');
        INSERT INTO fact VALUES('branch-replicas',X'582a4102e71681c4ae80d0bec3ef75beda86adbf951d9d28df4ab6e3716c7777\#
        ');
        INSERT INTO fact VALUES('history',X'19ae019d61b9a8a101839b6c792acb25c40214679e92e8e44193034ace1cf37ab0d61104\#
        53ac28d06ec29faf051f93dae183a9a3cc060a6053a3373fd6c107728a584c5ed652f00879c874a6d716e5e809e7a22eb10a258c370a\#
        ');
        INSERT INTO fact VALUES('latest-shown-time',X'89ceb396a134');
        INSERT INTO fact VALUES('origin',X'5af364e8e54123f4bcd8973eab1bbae0ffbf6819f6195b1a6ab6cc320fa76e27');
        INSERT INTO fact VALUES('store-token',X'8695af521b2ef0479ae8b81158f01c51');
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
        CREATE TABLE timeline (
            timeline INTEGER PRIMARY KEY,
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            statement BLOB NOT NULL
        );
        INSERT INTO timeline VALUES(1,0,7,X'01582a4102e71681c4ae80d0bec3ef75be000564726166740102db3f062b046721756289\#
        26a7dc502606f311cfa213a21a33c5315c943308c87c3ff522a5fc01fc6112dd2bac841a4f4a');
        INSERT INTO timeline VALUES(2,0,11,X'018c1255704dfe8a1eadbab7d358de24dc00056f746865720102db3f062b04672175628\#
        926a7dc50260af3762e64a1ca1938c98010d29ea0f5ec1dde010b918d38261459a233aaad2d00');
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
        INSERT INTO unmerged VALUES(1,0,1,2,0,2,NULL);
        INSERT INTO unmerged VALUES(1,4294967294,1,3,0,4,NULL);
        CREATE TABLE spent (
            register INTEGER PRIMARY KEY,
            count INTEGER NOT NULL,
            first BLOB NOT NULL,
            last BLOB NOT NULL
        );
        INSERT INTO spent VALUES(4294967296,6,X'03',X'09');
        INSERT INTO spent VALUES(4294967299,2,X'04',X'05');
        CREATE TABLE erasure (
            register INTEGER NOT NULL,
            line INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            PRIMARY KEY (register, line)
        ) WITHOUT ROWID;
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
        CREATE INDEX unmerged_change ON unmerged (line, sequence, object);
        CREATE INDEX unmerged_parent ON unmerged (parent, object) WHERE kind = 4;
        CREATE INDEX version_creation ON version (register) WHERE status = 2;
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
        COMMIT;
        """#
}
