#if PLANTED_BUGS
import CRDTCore
#endif

/// Every statement of the hot path.
///
/// The raw value is its place in the `StatementCache`.
enum StoreQuery: Int, CaseIterable {
    case begin, beginImmediate, commit, rollback
    case nextObject, nextName, nextOperation, nextGrant
    case insertName, nameByText, nameByNumber
    case insertGrant, grantByContent, grantByNumber
    case objectByID, objectID, objectRow
    case insertObject, updateObject, updateObjectAndPlace
    case children, rootChildren, visibleObjects, visiblePage, typePage, childPage, rootChildPage, visibleCount
    case knownPage
    case lastPosition, lastRootPosition, childBefore, rootChildBefore
    case lastCommit, changedObjects, changesOfObject, lastMove, lastDeletion
    case allLines, insertLine, updateLine, updateLineIntroduction, allRestamps, insertRestamp, settleRestamp
    case raisedStamp, setRaisedStamp, deleteRaisedStamp, raisedStampsByCause
    case setCheckpoint, checkpoint, checkpointsOfLine, removeCheckpoints
    case insertChange, changeHeader, contexts, changeOperations, changesFrom
    case insertOperation, operationsFrom
    case insertSignature, deleteSignature, lastSignatures, signatureAt, signatureFrom, signatureUpTo
    case register, setRegister, insertNameBlock, hasUnlistedName, registersOfObject, propertiesOfObject
    case conflictedRegisters, changedRegisters
    case setVersion, restampVersion, deleteVersion, conflicts, conflictsFromLine, deleteRegister, deleteVersions
    case historyOfObject, creationsOfObject, objectsWithDifferentCreations, deletionsOfObject, lastStampsOfObject
    case lastVersions
    case insertMove, setMove, deleteMove, movesInRange, movesOfObject, objectsWithoutEffect, objectsWithOpenMoves
    case allMovesOfObject, objectsMovedBelow, objectsMovedToRoot
    case unplacedObjects, allUnplaced, isUnplaced, insertUnplaced, hasUnlistedPlace, clearUnplaced
    case fact, setFact, deleteFact
    case pairedDevices, addPairedDevice, clearPairedDevices
    case invites, addInvite, clearInvites
    case addresses, addAddress, clearAddresses
    case rememberedWrite, rememberWrite, forgetWrites
    case allTimelines, insertTimeline, insertUnmerged, deleteUnmerged, unmergedAtKey, lastUnmerged, unmergedOfObject
    case unmergedBelow, unmergedToRoot, insertTaken, clearTaken
    case insertSnapshot, deleteSnapshot, allSnapshots, snapshotsOfObject, snapshotsInRange, snapshotContent
    case clearRegisters, clearNameBlocks, clearVersions, clearMoves, clearObjects, clearRaisedStamps, clearCheckpoints
    case clearUnmerged, clearSpent
    case replaceChange, deleteOperations, replaceOperation, refillChange
    case spentWrites, setSpent, deleteSpent, hasSpent, spentFrom
    case insertErasure, deleteErasure, erasuresFrom, erasuresOf, supersededWrites, clearErasures
    case integrityCheck, dataVersion, schema

    var sql: String {
        switch self {
        case .begin: "BEGIN"
        case .beginImmediate: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .nextObject: "SELECT max(object) + 1 FROM object"
        case .nextName: "SELECT max(name) + 1 FROM name"
        case .nextOperation: "SELECT max(operation) + 1 FROM operation"
        case .nextGrant: "SELECT max(grant_reference) + 1 FROM grant_reference"
        case .insertName, .nameByText, .nameByNumber, .insertGrant, .grantByContent, .grantByNumber:
            self.identifierSQL
        case .objectByID, .objectID, .objectRow, .insertObject, .updateObject, .updateObjectAndPlace, .children,
            .rootChildren, .visibleObjects, .visiblePage, .typePage, .childPage, .rootChildPage, .visibleCount,
            .knownPage,
            .lastPosition, .lastRootPosition, .childBefore, .rootChildBefore, .lastCommit, .changedObjects,
            .changesOfObject, .lastMove, .lastDeletion:
            self.objectSQL
        case .allLines, .insertLine, .updateLine, .updateLineIntroduction, .allRestamps, .insertRestamp, .settleRestamp,
            .raisedStamp, .setRaisedStamp, .deleteRaisedStamp, .raisedStampsByCause, .setCheckpoint, .checkpoint,
            .checkpointsOfLine, .removeCheckpoints:
            self.lineSQL
        case .insertChange, .changeHeader, .contexts, .changeOperations, .changesFrom, .insertOperation,
            .operationsFrom, .insertSignature, .deleteSignature, .lastSignatures, .signatureAt, .signatureFrom,
            .signatureUpTo:
            self.logSQL
        case .register, .setRegister, .insertNameBlock, .hasUnlistedName, .registersOfObject, .propertiesOfObject,
            .conflictedRegisters, .changedRegisters, .setVersion, .restampVersion, .deleteVersion, .conflicts,
            .conflictsFromLine, .deleteRegister, .deleteVersions, .historyOfObject, .creationsOfObject,
            .objectsWithDifferentCreations, .deletionsOfObject, .lastStampsOfObject, .lastVersions:
            self.registerSQL
        case .insertMove, .setMove, .deleteMove, .movesInRange, .movesOfObject, .objectsWithoutEffect,
            .objectsWithOpenMoves, .allMovesOfObject, .objectsMovedBelow, .objectsMovedToRoot, .unplacedObjects,
            .allUnplaced, .isUnplaced, .insertUnplaced, .hasUnlistedPlace:
            self.moveSQL
        case .pairedDevices, .addPairedDevice, .clearPairedDevices, .invites, .addInvite, .clearInvites, .addresses,
            .addAddress, .clearAddresses:
            self.deviceSQL
        case .rememberedWrite: "SELECT content, created FROM remembered_write WHERE name = ?"
        case .rememberWrite:
            "INSERT INTO remembered_write (name, content, created) VALUES (?, ?, ?) RETURNING remembered_write"
        case .forgetWrites: "DELETE FROM remembered_write WHERE remembered_write <= ?"
        case .allTimelines, .insertTimeline, .insertUnmerged, .deleteUnmerged, .unmergedAtKey, .lastUnmerged,
            .unmergedOfObject, .unmergedBelow, .unmergedToRoot, .insertTaken, .clearTaken:
            self.timelineSQL
        case .insertSnapshot, .deleteSnapshot, .allSnapshots, .snapshotsOfObject, .snapshotsInRange, .snapshotContent:
            self.snapshotSQL
        case .fact: "SELECT value FROM fact WHERE name = ?"
        case .setFact: "INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)"
        case .deleteFact: "DELETE FROM fact WHERE name = ?"
        case .integrityCheck: "PRAGMA integrity_check(3)"
        case .dataVersion: "PRAGMA data_version"
        case .schema: "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        case .clearRegisters: "DELETE FROM register"
        case .clearNameBlocks: "DELETE FROM name_block"
        case .clearUnplaced: "DELETE FROM unplaced"
        case .clearVersions: "DELETE FROM version"
        case .clearMoves: "DELETE FROM move"
        case .clearRaisedStamps: "DELETE FROM raised"
        case .clearCheckpoints: "DELETE FROM checkpoint"
        case .clearUnmerged: "DELETE FROM unmerged"
        case .clearSpent: "DELETE FROM spent"
        case .replaceChange, .deleteOperations, .replaceOperation, .refillChange, .spentWrites, .setSpent, .deleteSpent,
            .hasSpent, .spentFrom:
            self.compactionSQL
        case .insertErasure, .deleteErasure, .erasuresFrom, .erasuresOf, .supersededWrites, .clearErasures:
            self.erasureSQL
        case .clearObjects:
            """
            UPDATE object SET created_stamp = NULL, created_line = NULL, created_sequence = NULL, created_idx = NULL,
            type = NULL, kind = NULL, existence = x'', updated = 0, parent = NULL, position = x'', child_count = 0,
            visible_child_count = 0, visible = 0, open_move_line = NULL, open_move_sequence = NULL,
            open_move_idx = NULL, other_open_moves = NULL, changed = ?1,
            hidden = iif(visible, ?1, hidden), placed = ?1
            """
        }
    }

    private var compactionSQL: String {
        switch self {
        case .replaceChange:
            """
            UPDATE change SET has_left_out = ?3, blinding = ?4, byte_count = ?5, spent = ?6
            WHERE line = ?1 AND sequence = ?2
            """
        case .refillChange:
            """
            UPDATE change SET operation = ?3, has_left_out = ?4, blinding = ?5, byte_count = ?6, spent = NULL
            WHERE line = ?1 AND sequence = ?2
            """
        case .deleteOperations: "DELETE FROM operation WHERE operation BETWEEN ? AND ?"
        case .replaceOperation:
            """
            UPDATE operation SET kind = 255, grant_reference = NULL, tag = NULL, value = ?2 WHERE operation = ?1
            """
        case .spentWrites: "SELECT count, first, last, last_stamp FROM spent WHERE register = ?"
        case .setSpent: "INSERT OR REPLACE INTO spent (register, count, first, last, last_stamp) VALUES (?, ?, ?, ?, ?)"
        case .deleteSpent: "DELETE FROM spent WHERE register = ?"
        case .spentFrom: "SELECT register FROM spent WHERE register > ? ORDER BY register LIMIT ?"
        default: "SELECT EXISTS (SELECT 1 FROM spent)"
        }
    }

    private var erasureSQL: String {
        switch self {
        case .insertErasure:
            // A later one on the same line covers more.
            """
            INSERT INTO erasure (register, line, sequence) VALUES (?, ?, ?)
            ON CONFLICT (register, line) DO UPDATE SET sequence = max(sequence, ?3)
            """
        case .deleteErasure:
            "DELETE FROM erasure WHERE register = ? AND line = ? AND sequence = ?"
        case .erasuresFrom:
            """
            SELECT register, line, sequence FROM erasure
            WHERE register = (SELECT min(register) FROM erasure WHERE register > ?) ORDER BY line
            """
        case .erasuresOf: "SELECT 1 FROM erasure WHERE register = ? LIMIT 1"
        case .supersededWrites:
            "SELECT stamp, line, sequence, idx FROM version WHERE register = ? AND status = 0 ORDER BY stamp"
        default: "DELETE FROM erasure"
        }
    }

    private var timelineSQL: String {
        switch self {
        case .allTimelines: "SELECT line, sequence, statement FROM timeline ORDER BY timeline"
        case .insertTimeline: "INSERT INTO timeline (line, sequence, statement) VALUES (?, ?, ?)"
        case .insertUnmerged:
            """
            INSERT OR REPLACE INTO unmerged (object, name, line, sequence, idx, kind, parent)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        case .insertTaken:
            "INSERT OR IGNORE INTO taken_in (line, sequence, by_line, by_sequence) VALUES (?, ?, ?, ?)"
        case .clearTaken: "DELETE FROM taken_in"
        case .deleteUnmerged: "DELETE FROM unmerged WHERE line = ? AND sequence = ? AND object = ?"
        case .unmergedAtKey:
            """
            SELECT name, line, sequence, idx, kind, parent FROM unmerged WHERE object = ? AND name = ?
            ORDER BY line, sequence, idx
            """
        case .lastUnmerged:
            """
            SELECT name, line, sequence, idx, kind, parent FROM unmerged
            WHERE object = ? AND name = ? AND line = ? AND sequence <= ? ORDER BY sequence DESC, idx DESC LIMIT 1
            """
        case .unmergedOfObject:
            """
            SELECT name, line, sequence, idx, kind, parent FROM unmerged WHERE object = ?
            ORDER BY name, line, sequence, idx
            """
        case .unmergedBelow: "SELECT DISTINCT object FROM unmerged WHERE kind = 4 AND parent = ?"
        default: "SELECT DISTINCT object FROM unmerged WHERE kind = 4 AND parent IS NULL"
        }
    }

    private var identifierSQL: String {
        switch self {
        case .insertName: "INSERT INTO name (name, text) VALUES (?, ?)"
        case .nameByText: "SELECT name FROM name WHERE text = ?"
        case .nameByNumber: "SELECT text FROM name WHERE name = ?"
        case .insertGrant: "INSERT INTO grant_reference (replica, sequence, idx, grant_reference) VALUES (?, ?, ?, ?)"
        case .grantByContent:
            "SELECT grant_reference FROM grant_reference WHERE replica = ? AND sequence = ? AND idx = ?"
        default: "SELECT replica, sequence, idx FROM grant_reference WHERE grant_reference = ?"
        }
    }

    private var objectSQL: String {
        switch self {
        case .objectByID: "SELECT object FROM object WHERE id = ?"
        case .objectID: "SELECT id FROM object WHERE object = ?"
        case .visibleCount: "SELECT count(*) FROM object WHERE visible"
        case .lastCommit: "SELECT max(changed) FROM object"
        case .changesOfObject: "SELECT object, changed, shown, hidden, placed FROM object WHERE object = ?"
        case .lastMove: "SELECT line FROM move WHERE object = ? AND effective = 1 ORDER BY stamp DESC LIMIT 1"
        case .lastDeletion: "SELECT line FROM version WHERE register = ? AND status = 3 ORDER BY stamp DESC LIMIT 1"
        case .changedObjects:
            """
            SELECT object, changed, shown, hidden, placed FROM object WHERE (changed, object) > (?, ?)
            ORDER BY changed, object LIMIT ?
            """
        case .visiblePage: "SELECT object FROM object WHERE id > ? AND visible ORDER BY id LIMIT ?"
        case .knownPage: "SELECT object FROM object WHERE id > ? ORDER BY id LIMIT ?"
        case .typePage: "SELECT object FROM object WHERE type = ?3 AND id > ?1 AND visible ORDER BY id LIMIT ?2"
        case .lastPosition: "SELECT max(position) FROM object WHERE parent = ?"
        case .lastRootPosition: "SELECT max(position) FROM object WHERE parent IS NULL"
        case .childPage:
            """
            SELECT object FROM object WHERE parent = ?4 AND (position, id) > (?1, ?2) AND visible
            ORDER BY position, id LIMIT ?3
            """
        case .rootChildPage:
            """
            SELECT object FROM object WHERE parent IS NULL AND (position, id) > (?1, ?2) AND visible
            ORDER BY position, id LIMIT ?3
            """
        case .childBefore:
            """
            SELECT object FROM object WHERE parent = ?3 AND (position, id) < (?1, ?2) AND visible
            ORDER BY position DESC, id DESC LIMIT 1
            """
        case .rootChildBefore:
            """
            SELECT object FROM object WHERE parent IS NULL AND (position, id) < (?1, ?2) AND visible
            ORDER BY position DESC, id DESC LIMIT 1
            """
        case .objectRow:
            """
            SELECT id, created_stamp, created_line, created_sequence, created_idx, type, kind, existence, updated,
            parent, position, child_count, visible_child_count, visible, open_move_line, open_move_sequence,
            open_move_idx, other_open_moves FROM object WHERE object = ?
            """
        case .insertObject:
            """
            INSERT INTO object (object, created_stamp, created_line, created_sequence, created_idx, type, kind,
            existence, updated, child_count, visible_child_count, visible, open_move_line, open_move_sequence,
            open_move_idx, other_open_moves, parent, position, id, changed, shown, hidden, placed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?20, ?20, 0, ?20)
            """
        case .updateObject:
            """
            UPDATE object SET created_stamp = ?2, created_line = ?3, created_sequence = ?4, created_idx = ?5,
            type = ?6, kind = ?7, existence = ?8, updated = ?9, child_count = ?10, visible_child_count = ?11,
            visible = ?12, open_move_line = ?13, open_move_sequence = ?14, open_move_idx = ?15,
            other_open_moves = ?16, changed = ?20, shown = iif(visible < ?12, ?20, shown),
            hidden = iif(visible > ?12, ?20, hidden), placed = iif(type IS ?6 AND kind IS ?7, placed, ?20)
            WHERE object = ?1
            """
        case .updateObjectAndPlace:
            """
            UPDATE object SET created_stamp = ?2, created_line = ?3, created_sequence = ?4, created_idx = ?5,
            type = ?6, kind = ?7, existence = ?8, updated = ?9, child_count = ?10, visible_child_count = ?11,
            visible = ?12, open_move_line = ?13, open_move_sequence = ?14, open_move_idx = ?15,
            other_open_moves = ?16, parent = ?17, position = ?18, changed = ?20,
            shown = iif(visible < ?12, ?20, shown), hidden = iif(visible > ?12, ?20, hidden),
            placed = iif(parent IS ?17 AND type IS ?6 AND kind IS ?7, placed, ?20) WHERE object = ?1
            """
        #if PLANTED_BUGS
        case .children where PlantedBug.siblingsByArrival.isPlanted:
            "SELECT object FROM object WHERE parent = ? ORDER BY position, object"
        case .rootChildren where PlantedBug.siblingsByArrival.isPlanted:
            "SELECT object FROM object WHERE parent IS NULL ORDER BY position, object"
        #endif
        case .children: "SELECT object FROM object WHERE parent = ? ORDER BY position, id"
        case .rootChildren: "SELECT object FROM object WHERE parent IS NULL ORDER BY position, id"
        default: "SELECT object FROM object WHERE visible ORDER BY id"
        }
    }

    private var lineSQL: String {
        switch self {
        case .allLines:
            """
            SELECT line, replica, introduction, parent_line, parent_sequence, first_hash, sibling_hash,
            stored_sequence, stored_hash, applied_sequence, applied_stamp, recent, first_raised,
            checkpoint_sequence, checkpoint_number, timeline, merged_sequence FROM line ORDER BY line
            """
        case .insertLine:
            """
            INSERT INTO line (line, stored_sequence, stored_hash, applied_sequence, applied_stamp, recent,
            first_raised, checkpoint_sequence, checkpoint_number, timeline, merged_sequence, replica, parent_line,
            parent_sequence, first_hash, sibling_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .updateLine:
            """
            UPDATE line SET stored_sequence = ?2, stored_hash = ?3, applied_sequence = ?4, applied_stamp = ?5,
            recent = ?6, first_raised = ?7, checkpoint_sequence = ?8, checkpoint_number = ?9, timeline = ?10,
            merged_sequence = ?11 WHERE line = ?1
            """
        case .allRestamps:
            """
            SELECT author_line, replica, first_sequence, last_sequence, last_hash, is_settled, restamp FROM restamp
            ORDER BY restamp
            """
        case .settleRestamp: "UPDATE restamp SET is_settled = 1 WHERE restamp = ?"
        case .insertRestamp:
            """
            INSERT INTO restamp (author_line, replica, first_sequence, last_sequence, last_hash)
            VALUES (?, ?, ?, ?, ?)
            """
        case .raisedStamp: "SELECT stamp, cause_line, cause_sequence FROM raised WHERE line = ? AND sequence = ?"
        case .setRaisedStamp:
            """
            INSERT OR REPLACE INTO raised (line, sequence, stamp, cause_line, cause_sequence) VALUES (?, ?, ?, ?, ?)
            """
        case .deleteRaisedStamp: "DELETE FROM raised WHERE line = ? AND sequence = ?"
        case .raisedStampsByCause:
            """
            SELECT line, sequence FROM raised WHERE cause_line = ? AND cause_sequence = ? ORDER BY line, sequence
            """
        case .setCheckpoint:
            "INSERT OR REPLACE INTO checkpoint (line, sequence, number, base, additions) VALUES (?, ?, ?, ?, ?)"
        case .checkpoint:
            """
            SELECT sequence, number, base, additions FROM checkpoint WHERE line = ? AND sequence <= ?
            ORDER BY sequence DESC LIMIT 1
            """
        case .checkpointsOfLine:
            "SELECT sequence, number, base, additions FROM checkpoint WHERE line = ? ORDER BY sequence"
        case .removeCheckpoints: "DELETE FROM checkpoint WHERE line = ? AND sequence > ?"
        default: "UPDATE line SET user = ?2, device = ?3, device_name = ?4, introduction = ?5 WHERE line = ?1"
        }
    }

    private var logSQL: String {
        switch self {
        case .insertChange:
            """
            INSERT INTO change (line, sequence, stamp, operation, operation_count, byte_count, context,
            has_left_out, blinding, hash, spent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .changeHeader: "SELECT stamp, hash FROM change WHERE line = ? AND sequence = ?"
        case .contexts:
            "SELECT context FROM change WHERE line = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"
        case .changeOperations:
            "SELECT operation, operation_count, has_left_out, spent FROM change WHERE line = ? AND sequence = ?"
        case .changesFrom:
            """
            SELECT sequence, stamp, operation, operation_count, byte_count, context, has_left_out, blinding, spent
            FROM change WHERE line = ? AND sequence >= ? ORDER BY sequence
            """
        case .insertOperation:
            """
            INSERT INTO operation (operation, kind, object, operand, grant_reference, tag, value)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        case .operationsFrom:
            """
            SELECT operation, kind, object, operand, grant_reference, tag, value FROM operation
            WHERE operation >= ? ORDER BY operation
            """
        case .insertSignature:
            """
            INSERT INTO run_signature (line, sequence, operation_count, byte_count, signature)
            VALUES (?, ?, ?, ?, ?)
            """
        case .deleteSignature: "DELETE FROM run_signature WHERE line = ? AND sequence = ?"
        case .lastSignatures:
            """
            SELECT sequence, operation_count, byte_count FROM run_signature WHERE line = ?
            ORDER BY sequence DESC LIMIT 2
            """
        case .signatureAt: "SELECT signature FROM run_signature WHERE line = ? AND sequence = ?"
        case .signatureFrom:
            "SELECT sequence FROM run_signature WHERE line = ? AND sequence >= ? ORDER BY sequence LIMIT 1"
        default:
            "SELECT sequence FROM run_signature WHERE line = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
        }
    }

    private var registerSQL: String {
        switch self {
        case .register:
            """
            SELECT stamp, line, sequence, idx, is_removal, conflict_count, register, write_count FROM register
            WHERE register = ?
            """
        case .setRegister:
            """
            INSERT INTO register
            (register, stamp, line, sequence, idx, is_removal, conflict_count, changed, write_count)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (register) DO UPDATE SET stamp = ?2, line = ?3,
            sequence = ?4, idx = ?5, is_removal = ?6, conflict_count = ?7, changed = ?8, write_count = ?9
            """
        case .insertNameBlock: "INSERT OR IGNORE INTO name_block (name, block) VALUES (?, ?)"
        case .hasUnlistedName:
            """
            SELECT EXISTS (
                SELECT 1 FROM register WHERE NOT EXISTS (
                    SELECT 1 FROM name_block
                    WHERE name_block.name = register.name AND name_block.block = register.object >> 6
                )
            )
            """
        case .registersOfObject:
            """
            SELECT stamp, line, sequence, idx, is_removal, conflict_count, register, write_count FROM register
            WHERE register BETWEEN ? AND ?
            """
        case .propertiesOfObject:
            """
            SELECT operation.operation, operation.kind, operation.tag, operation.value, name.text FROM register
            LEFT JOIN change ON change.line = register.line AND change.sequence = register.sequence
            LEFT JOIN operation ON operation.operation = change.operation + register.idx
                AND register.idx < change.operation_count
            LEFT JOIN name ON name.name = register.name
            WHERE register.register BETWEEN ? AND ? AND NOT register.is_removal
            """
        case .changedRegisters:
            """
            SELECT stamp, line, sequence, idx, is_removal, conflict_count, register, write_count FROM register
            WHERE register BETWEEN ? AND ? AND changed > ?
            """
        case .conflictedRegisters:
            """
            SELECT stamp, line, sequence, idx, is_removal, conflict_count, register, write_count FROM register
            WHERE register IN (SELECT register FROM version WHERE status = 1)
            """
        case .setVersion:
            """
            INSERT OR REPLACE INTO version (register, stamp, line, sequence, idx, status) VALUES (?, ?, ?, ?, ?, ?)
            """
        case .deleteRegister: "DELETE FROM register WHERE register = ?"
        case .deleteVersions: "DELETE FROM version WHERE register = ?"
        case .restampVersion:
            """
            UPDATE version SET stamp = ?6
            WHERE register = ?1 AND stamp = ?2 AND line = ?3 AND sequence = ?4 AND idx = ?5
            """
        case .deleteVersion:
            "DELETE FROM version WHERE register = ? AND stamp = ? AND line = ? AND sequence = ? AND idx = ?"
        case .creationsOfObject:
            "SELECT stamp, line, sequence, idx FROM version WHERE register = ? AND status = 2"
        case .objectsWithDifferentCreations:
            // The type and the kind of a creation are numbers in these columns.
            """
            SELECT version.register >> 32 FROM version
            JOIN change ON change.line = version.line AND change.sequence = version.sequence
            JOIN operation ON operation.operation = change.operation + version.idx
            WHERE version.status = 2
            GROUP BY version.register
            HAVING min(operation.operand) <> max(operation.operand) OR min(operation.value) <> max(operation.value)
            """
        case .deletionsOfObject:
            "SELECT stamp, line, sequence, idx FROM version WHERE register = ? AND status = 3"
        case .lastVersions:
            """
            SELECT stamp, line, sequence, idx FROM version WHERE register = ? AND stamp BETWEEN ? AND ?
            ORDER BY stamp DESC
            """
        case .lastStampsOfObject:
            // The highest of each kind; stamps with the highest bit set are negative here.
            """
            SELECT created_stamp FROM object WHERE object = ?4
            UNION ALL SELECT max(stamp) FROM register WHERE register BETWEEN ?1 AND ?2
            UNION ALL SELECT max(stamp) FROM register WHERE register BETWEEN ?1 AND ?2 AND stamp < 0
            UNION ALL SELECT max(stamp) FROM version WHERE register = ?3
            UNION ALL SELECT max(stamp) FROM version WHERE register = ?3 AND stamp < 0
            UNION ALL SELECT max(stamp) FROM move WHERE object = ?4 AND effective = 0
            UNION ALL SELECT max(stamp) FROM move WHERE object = ?4 AND effective = 0 AND stamp < 0
            UNION ALL SELECT max(stamp) FROM move WHERE object = ?4 AND effective = 1
            UNION ALL SELECT max(stamp) FROM move WHERE object = ?4 AND effective = 1 AND stamp < 0
            """
        case .historyOfObject:
            """
            SELECT created_stamp, created_line, created_sequence, created_idx FROM object
            WHERE object = ?3 AND created_stamp IS NOT NULL
            UNION
            SELECT stamp, line, sequence, idx FROM version WHERE register BETWEEN ?1 AND ?2
            UNION ALL
            SELECT stamp, line, sequence, idx FROM register WHERE register BETWEEN ?1 AND ?2
            UNION ALL
            SELECT stamp, line, sequence, idx FROM move WHERE object = ?3
            """
        case .conflictsFromLine:
            """
            SELECT stamp, line, sequence, idx FROM version
            WHERE register = ? AND line >= ? AND status = 1 ORDER BY line
            """
        default: "SELECT stamp, line, sequence, idx FROM version WHERE register = ? AND status = 1"
        }
    }

    private var moveSQL: String {
        switch self {
        case .insertMove:
            """
            INSERT INTO move (stamp, line, sequence, idx, object, parent, position, effective)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .setMove:
            "UPDATE move SET effective = ?5 WHERE stamp = ?1 AND line = ?2 AND sequence = ?3 AND idx = ?4"
        case .deleteMove:
            """
            DELETE FROM move WHERE stamp = ? AND line = ? AND sequence = ? AND idx = ? AND object = ? RETURNING object
            """
        case .movesInRange:
            """
            SELECT stamp, line, sequence, idx, object, parent, position, effective FROM move
            WHERE stamp BETWEEN ? AND ? ORDER BY stamp
            """
        case .movesOfObject:
            """
            SELECT stamp, line, sequence, idx, object, parent, position, effective FROM move INDEXED BY move_object
            WHERE object = ? AND effective = ? AND stamp BETWEEN ? AND ? ORDER BY stamp DESC
            """
        case .allMovesOfObject:
            """
            SELECT stamp, line, sequence, idx, object, parent, position, effective FROM move INDEXED BY move_object
            WHERE object = ?
            """
        case .objectsMovedBelow: "SELECT DISTINCT object FROM move INDEXED BY move_parent WHERE parent = ?"
        case .objectsMovedToRoot:
            "SELECT DISTINCT object FROM move INDEXED BY move_parent WHERE parent IS NULL"
        case .unplacedObjects: "SELECT block, objects FROM unplaced"
        case .allUnplaced:
            """
            SELECT object FROM object WHERE NOT EXISTS (
                SELECT * FROM move INDEXED BY move_object
                WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
            )
            """
        case .isUnplaced:
            """
            SELECT NOT EXISTS (
                SELECT * FROM move INDEXED BY move_object
                WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
            ) FROM object WHERE object = ?
            """
        case .insertUnplaced:
            """
            INSERT INTO unplaced (block, objects) VALUES (?, ?)
            ON CONFLICT DO UPDATE SET objects = objects | excluded.objects
            """
        case .hasUnlistedPlace:
            """
            SELECT EXISTS (
                SELECT 1 FROM object WHERE NOT EXISTS (
                    SELECT * FROM move INDEXED BY move_object
                    WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
                ) AND NOT EXISTS (
                    SELECT 1 FROM unplaced WHERE block = object >> 6 AND objects >> (object & 63) & 1
                )
            )
            """
        case .objectsWithOpenMoves:
            "SELECT object FROM object WHERE other_open_moves IS NOT NULL"
        default: "SELECT DISTINCT object FROM move WHERE effective = 0"
        }
    }

    private var snapshotSQL: String {
        let columns = "id, object_id, name, object_count, byte_count, created_at"
        return switch self {
        case .insertSnapshot: "INSERT INTO snapshot (\(columns), content) VALUES (?, ?, ?, ?, ?, ?, ?)"
        case .deleteSnapshot: "DELETE FROM snapshot WHERE id = ?"
        case .allSnapshots: "SELECT \(columns) FROM snapshot ORDER BY created_at, id"
        case .snapshotsOfObject: "SELECT \(columns) FROM snapshot WHERE object_id = ? ORDER BY created_at, id"
        case .snapshotsInRange: "SELECT \(columns) FROM snapshot WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
        default: "SELECT content FROM snapshot WHERE id = ?"
        }
    }

    private var deviceSQL: String {
        switch self {
        case .pairedDevices: "SELECT device, static_key, name, lapse FROM paired_device ORDER BY paired_device"
        case .addPairedDevice: "INSERT INTO paired_device (device, static_key, name, lapse) VALUES (?, ?, ?, ?)"
        case .clearPairedDevices: "DELETE FROM paired_device"
        case .invites: "SELECT secret, expiry FROM invite ORDER BY invite"
        case .addInvite: "INSERT INTO invite (secret, expiry) VALUES (?, ?)"
        case .clearInvites: "DELETE FROM invite"
        case .addresses: "SELECT device, static_key, host, port FROM address ORDER BY address"
        case .addAddress: "INSERT INTO address (device, static_key, host, port) VALUES (?, ?, ?, ?)"
        default: "DELETE FROM address"
        }
    }
}
