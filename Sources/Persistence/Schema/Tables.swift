/// The tables: the log, the state that follows from it, and what this machine alone knows.
extension Schema {
    static let tables = """
        -- Segments by number, from 0 without gaps: stretches of replicas' chains without a fork. One that has a parent
        -- hangs on a change of that segment, which has a lower number. "branch" is the branch that a segment belongs
        -- to, NULL for the main timeline, "merged_sequence" how far it counts there, and "closed_sequence" how far it
        -- was given up. Stamps and sequences are unsigned; SQLite shows them signed.
        CREATE TABLE segment (
            segment INTEGER PRIMARY KEY,
            replica BLOB NOT NULL,
            user BLOB,
            device BLOB,
            device_name TEXT,
            introduction BLOB,
            parent_segment INTEGER,
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
            first_raised INTEGER,
            branch BLOB,
            merged_sequence INTEGER NOT NULL DEFAULT 0,
            closed_sequence INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX segment_replica ON segment (replica);

        CREATE TABLE name (
            name INTEGER PRIMARY KEY,
            text TEXT NOT NULL UNIQUE
        );

        -- The log: changes by (segment, sequence). The operations of a change have the numbers from "operation" on.
        -- "redaction" says whether leaves stand for some of what the change writes (1), or one hash, which is in
        -- "blinding", for all of it (2). A change that does nothing else then has no rows in "operation", and in
        -- "redacted" an object and a name for each operation.
        CREATE TABLE change (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            operation INTEGER NOT NULL,
            operation_count INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            context BLOB NOT NULL,
            redaction INTEGER NOT NULL,
            blinding BLOB NOT NULL,
            hash BLOB NOT NULL,
            redacted BLOB,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;

        -- The log: operations in the order of arrival. "operand" is a name, a type or a parent, as the kind has it. The
        -- kind of a write of a value is below zero, and says which type the value has.
        CREATE TABLE operation (
            operation INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            object INTEGER,
            operand INTEGER,
            value
        );

        -- The log: where verified runs ended, and what lies between this end and the one kept before it.
        CREATE TABLE run_signature (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            operation_count INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            signature BLOB NOT NULL,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;

        -- The log: stretches of chains that some operation restamps, with the stamp of the change that it is in. One
        -- that is not settled has no effect yet.
        CREATE TABLE restamp (
            restamp INTEGER PRIMARY KEY,
            author_segment INTEGER NOT NULL,
            replica BLOB NOT NULL,
            first_sequence INTEGER NOT NULL,
            last_sequence INTEGER NOT NULL,
            last_hash BLOB NOT NULL,
            stamp INTEGER NOT NULL,
            is_settled INTEGER NOT NULL DEFAULT 0
        );

        -- The log: what opens, closes and merges branches.
        CREATE TABLE branch (
            branch INTEGER PRIMARY KEY,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            statement BLOB NOT NULL
        );

        -- The log: where something is said of who may do what.
        CREATE TABLE rights (
            rights INTEGER PRIMARY KEY,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL
        );

        -- State: the effective stamps of changes that are not their own, and the changes that they follow from.
        CREATE TABLE raised (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            cause_segment INTEGER,
            cause_sequence INTEGER,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;
        CREATE INDEX raised_cause ON raised (cause_segment, cause_sequence);

        -- State: what some changes had seen, as a sequence for each segment.
        CREATE TABLE checkpoint (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            number INTEGER NOT NULL,
            base INTEGER NOT NULL,
            additions BLOB NOT NULL,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;

        -- State: objects by number. An id is that of one object in each circle; 0 is home, and the others have numbers
        -- in the order of the first segments that belong to them. A row without a creation is an object that was only
        -- referred to. Commits that
        -- change objects are numbered: the last that changed anything of the object, that made it show, that made
        -- it show no more, and that changed its parent, type or kind.
        CREATE TABLE object (
            object INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            circle INTEGER NOT NULL,
            created_stamp INTEGER,
            created_segment INTEGER,
            created_sequence INTEGER,
            created_idx INTEGER,
            type INTEGER,
            kind INTEGER,
            existence BLOB NOT NULL,
            updated INTEGER NOT NULL,
            parent INTEGER,
            position BLOB NOT NULL,
            open_move_segment INTEGER,
            open_move_sequence INTEGER,
            open_move_idx INTEGER,
            other_open_moves BLOB,
            child_count INTEGER NOT NULL,
            visible_child_count INTEGER NOT NULL,
            visible INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            shown INTEGER NOT NULL,
            hidden INTEGER NOT NULL,
            placed INTEGER NOT NULL,
            UNIQUE (id, circle)
        );
        CREATE INDEX object_place ON object (parent, position);
        -- Hardly any id is in several circles. Without a word SQLite takes it that ten rows have one, and reads whole
        -- tables rather than look them up.
        ANALYZE sqlite_schema;
        INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('object', 'sqlite_autoindex_object_1', '1000000 1 1');
        CREATE INDEX object_type ON object (type, id, circle) WHERE visible;
        CREATE INDEX object_changed ON object (changed);
        CREATE INDEX object_outside ON object (object) WHERE circle > 0;
        CREATE INDEX object_top ON object (circle) WHERE circle > 0 AND parent IS NULL;
        CREATE INDEX object_open_moves ON object (object) WHERE other_open_moves IS NOT NULL;

        -- State: the write in force of each property, the commit that changed it, and the number of writes. The
        -- key is object * 2^32 + name. The stamp is NULL if it is that of the change. Where the write removes the
        -- property, the count of conflicts is below zero: -1 stands for none, -2 for one.
        CREATE TABLE register (
            register INTEGER PRIMARY KEY,
            object INTEGER GENERATED ALWAYS AS (register >> 32) VIRTUAL,
            name INTEGER GENERATED ALWAYS AS (register & 4294967295) VIRTUAL,
            stamp INTEGER,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            conflict_count INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            write_count INTEGER NOT NULL DEFAULT 0
        );

        -- State: the blocks of 64 objects in which a name occurs: an index of names that a new property hardly
        -- ever adds to. A search by name looks at the objects of those blocks. A block may be listed that has no
        -- such property any more.
        CREATE TABLE name_block (
            name INTEGER NOT NULL,
            block INTEGER NOT NULL,
            PRIMARY KEY (name, block)
        ) WITHOUT ROWID;

        -- State: the writes not in force. Status 0 is superseded, 1 conflicting. Name 4294967295 stands for an
        -- object's deletions (status 3), and its creations (status 2) if it has several.
        CREATE TABLE version (
            register INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            status INTEGER NOT NULL,
            PRIMARY KEY (register, stamp, segment, sequence, idx)
        ) WITHOUT ROWID;
        CREATE INDEX version_conflict ON version (register, segment) WHERE status = 1;
        CREATE INDEX version_creation ON version (register) WHERE status = 2;

        -- State: all moves.
        CREATE TABLE move (
            stamp INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            object INTEGER NOT NULL,
            parent INTEGER,
            position BLOB NOT NULL,
            effective INTEGER NOT NULL,
            PRIMARY KEY (stamp, segment, sequence, idx)
        ) WITHOUT ROWID;
        CREATE INDEX move_object ON move (object, effective, stamp);
        CREATE INDEX move_parent ON move (parent, object);
        CREATE INDEX move_without_effect ON move (object) WHERE effective = 0;

        -- State: objects that stood at the root before a move put them anywhere: one bit an object, of each block
        -- of 64 objects that has some. Almost every object is put somewhere by the change that creates it, and is
        -- not here. Some may be here that need not be.
        CREATE TABLE unplaced (
            block INTEGER PRIMARY KEY,
            objects INTEGER NOT NULL
        );

        -- State: operations of branches that are not merged. The name of creations and deletions is 4294967295,
        -- that of moves 4294967294.
        CREATE TABLE unmerged (
            object INTEGER NOT NULL,
            name INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            parent INTEGER,
            PRIMARY KEY (object, name, segment, sequence, idx)
        ) WITHOUT ROWID;
        CREATE INDEX unmerged_change ON unmerged (segment, sequence, object);
        CREATE INDEX unmerged_parent ON unmerged (parent, object) WHERE kind = 4;

        -- State: how far a change of the main timeline had seen segments of branches when it merged them: from its
        -- stamp on, that counts.
        CREATE TABLE taken_in (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            by_segment INTEGER NOT NULL,
            by_sequence INTEGER NOT NULL,
            PRIMARY KEY (segment, sequence, by_segment, by_sequence)
        ) WITHOUT ROWID;

        -- State: the changes that take back an earlier one of their user ("change_…"), or what a merge had brought of
        -- it, or do that again. The target is that change, or the one that took it back. An action is
        -- named by the change with which it begins: the one that is taken back, or done again, and as "next" that which
        -- is next in the scope. "device" and "label" say whose actions that are, NULL for those of all devices of the
        -- user, and of all programs.
        CREATE TABLE undo (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            change_segment INTEGER NOT NULL,
            change_sequence INTEGER NOT NULL,
            target_segment INTEGER NOT NULL,
            target_sequence INTEGER NOT NULL,
            action_segment INTEGER NOT NULL,
            action_sequence INTEGER NOT NULL,
            device BLOB,
            label TEXT,
            next_segment INTEGER,
            next_sequence INTEGER,
            merge_segment INTEGER,
            merge_sequence INTEGER,
            is_redo INTEGER NOT NULL,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;
        CREATE INDEX undo_change ON undo (change_segment, change_sequence, segment, sequence);
        CREATE INDEX undo_scope ON undo (segment, device, label, sequence);

        -- State: what changes say of the actions that they belong to. The label is that of the program which made the
        -- change and those after it up to the next row; what comes before the first row is without one. The start is
        -- the stamp of the change with which the action began, NULL if it begins here; "first_sequence" where it came
        -- to the segment. The link is 1 if the change is of one transaction with the change of the action before it, in
        -- another circle, and 2 if it carries over what that says.
        CREATE TABLE action (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            label TEXT NOT NULL,
            first_sequence INTEGER NOT NULL,
            start INTEGER,
            link INTEGER NOT NULL,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;
        CREATE INDEX action_start ON action (segment, start, sequence) WHERE start IS NOT NULL;
        CREATE INDEX action_label ON action (segment, label, sequence);
        CREATE INDEX action_first ON action (segment, first_sequence, sequence);

        -- State: superseded writes that were dropped: how many of each property on each segment, the first and the last
        -- sequence of them, and the last stamp.
        CREATE TABLE redacted (
            register INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            count INTEGER NOT NULL,
            first_sequence INTEGER NOT NULL,
            last_sequence INTEGER NOT NULL,
            last_stamp INTEGER NOT NULL,
            PRIMARY KEY (register, segment)
        ) WITHOUT ROWID;

        -- State: changes with writes that are in force, in conflict or on a branch, and were dropped: how many.
        CREATE TABLE missing (
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (segment, sequence)
        ) WITHOUT ROWID;

        -- Erasures that count and are not done yet: of each property, the last on each segment. What the change had
        -- seen of the property is to be dropped. Of those that wait "due" says until when, in milliseconds since 1970;
        -- it is 0 once they do not any more, and -1 if they have not yet.
        CREATE TABLE erasure (
            register INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            due INTEGER NOT NULL DEFAULT -1,
            PRIMARY KEY (register, segment)
        ) WITHOUT ROWID;
        CREATE INDEX erasure_next ON erasure (register, segment) WHERE due <= 0;
        CREATE INDEX erasure_due ON erasure (due) WHERE due > 0;

        -- Devices that were paired or met here, and their introductions. One that has not come is forgotten at its
        -- lapse, in milliseconds since 1970.
        CREATE TABLE paired_device (
            paired_device INTEGER PRIMARY KEY,
            introduction BLOB NOT NULL,
            lapse INTEGER
        );

        -- Parcels that are carried for devices that were not in reach of whoever packed them, until milliseconds since
        -- 1970, and for whom; nobody here can open them. A small one counts for more bytes than it has.
        CREATE TABLE parcel (
            parcel INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            user BLOB NOT NULL,
            expiry INTEGER NOT NULL,
            byte_count INTEGER NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX parcel_user ON parcel (user, parcel, byte_count);
        CREATE INDEX parcel_expiry ON parcel (expiry);
        CREATE TABLE parcel_recipient (
            parcel INTEGER NOT NULL,
            device BLOB NOT NULL,
            PRIMARY KEY (parcel, device)
        ) WITHOUT ROWID;
        CREATE INDEX parcel_recipient_device ON parcel_recipient (device, parcel);

        -- Invites that are open, until milliseconds since 1970; with a name for another person.
        CREATE TABLE invite (
            invite INTEGER PRIMARY KEY,
            secret BLOB NOT NULL,
            person TEXT,
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

        -- The newest writes that programs of this machine named, so that one that is sent again is answered again
        -- and not done twice. "content" is a hash of what was wanted, "created" the ids of the objects that it
        -- created, one after the other. No other machine hears of them.
        CREATE TABLE remembered_write (
            remembered_write INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            content BLOB NOT NULL,
            created BLOB NOT NULL
        );

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

        -- State, for the views: what shows otherwise than its circle alone says. Either it shows elsewhere, where the
        -- object with the number "place" stands; or its values show in the place of those of the object with the
        -- number "beside", before what has a higher rank; or it does not show.
        CREATE TABLE overlay (
            object INTEGER PRIMARY KEY,
            place INTEGER,
            beside INTEGER,
            rank INTEGER
        );
        CREATE INDEX overlay_beside ON overlay (beside) WHERE beside IS NOT NULL;
        CREATE INDEX overlay_place ON overlay (place) WHERE place IS NOT NULL;

        -- State, for the views: who may do what in a circle. It is about all that the owner has at the root (scope 0),
        -- about what is at the root of the circle (1), or about properties that are hidden there (2). A property
        -- is named for whom may write no others.
        CREATE TABLE access (
            access INTEGER PRIMARY KEY,
            circle INTEGER NOT NULL,
            scope INTEGER NOT NULL,
            user BLOB NOT NULL,
            can_write INTEGER NOT NULL,
            property TEXT
        );
        CREATE INDEX access_circle ON access (scope, circle);
        """
}
