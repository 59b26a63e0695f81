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
    case children, rootChildren, visibleObjects
    case allReplicas, insertReplica, updateReplica, updateReplicaIntroduction
    case insertChange, changeStamp, changeHash, changeOperations, changesFrom
    case insertOperation, operationsFrom
    case insertSignature, deleteSignature, lastSignatures, signatureAt, signatureFrom, signatureUpTo
    case register, setRegister, registersOfObject, conflictedRegisters
    case setVersion, conflicts
    case insertMove, setMove, movesInRange, movesOfObject, objectsWithoutEffect
    case fact, setFact, deleteFact
    case clearRegisters, clearVersions, clearMoves, clearObjects
    case integrityCheck

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
            .rootChildren, .visibleObjects:
            self.objectSQL
        case .allReplicas, .insertReplica, .updateReplica, .updateReplicaIntroduction: self.replicaSQL
        case .insertChange, .changeStamp, .changeHash, .changeOperations, .changesFrom, .insertOperation,
            .operationsFrom, .insertSignature, .deleteSignature, .lastSignatures, .signatureAt, .signatureFrom,
            .signatureUpTo:
            self.logSQL
        case .register, .setRegister, .registersOfObject, .conflictedRegisters, .setVersion, .conflicts:
            self.registerSQL
        case .insertMove, .setMove, .movesInRange, .movesOfObject, .objectsWithoutEffect: self.moveSQL
        case .fact: "SELECT value FROM fact WHERE name = ?"
        case .setFact: "INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)"
        case .deleteFact: "DELETE FROM fact WHERE name = ?"
        case .integrityCheck: "PRAGMA integrity_check(3)"
        case .clearRegisters: "DELETE FROM register"
        case .clearVersions: "DELETE FROM version"
        case .clearMoves: "DELETE FROM move"
        case .clearObjects:
            """
            UPDATE object SET created_stamp = NULL, created_replica = NULL, created_sequence = NULL, created_idx = NULL,
            type = NULL, kind = NULL, existence = x'', updated = 0, parent = NULL, position = x'', child_count = 0,
            visible_child_count = 0, visible = 0
            """
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
        case .objectRow:
            """
            SELECT id, created_stamp, created_replica, created_sequence, created_idx, type, kind, existence, updated,
            parent, position, child_count, visible_child_count, visible FROM object WHERE object = ?
            """
        case .insertObject:
            """
            INSERT INTO object (object, created_stamp, created_replica, created_sequence, created_idx, type, kind,
            existence, updated, child_count, visible_child_count, visible, parent, position, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .updateObject:
            """
            UPDATE object SET created_stamp = ?2, created_replica = ?3, created_sequence = ?4, created_idx = ?5,
            type = ?6,
            kind = ?7, existence = ?8, updated = ?9, child_count = ?10, visible_child_count = ?11, visible = ?12
            WHERE object = ?1
            """
        case .updateObjectAndPlace:
            """
            UPDATE object SET created_stamp = ?2, created_replica = ?3, created_sequence = ?4, created_idx = ?5,
            type = ?6,
            kind = ?7, existence = ?8, updated = ?9, child_count = ?10, visible_child_count = ?11, visible = ?12,
            parent = ?13, position = ?14 WHERE object = ?1
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

    private var replicaSQL: String {
        switch self {
        case .allReplicas:
            """
            SELECT replica, id, stored_sequence, stored_hash, stored_stamp, applied_sequence, applied_stamp, context,
            fork_sequence, retired_after, backdated_after, introduction FROM replica ORDER BY replica
            """
        case .insertReplica:
            """
            INSERT INTO replica (replica, stored_sequence, stored_hash, stored_stamp, applied_sequence, applied_stamp,
            context, fork_sequence, retired_after, backdated_after, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .updateReplica:
            """
            UPDATE replica SET stored_sequence = ?2, stored_hash = ?3, stored_stamp = ?4, applied_sequence = ?5,
            applied_stamp = ?6, context = ?7, fork_sequence = ?8, retired_after = ?9, backdated_after = ?10
            WHERE replica = ?1
            """
        default:
            "UPDATE replica SET user = ?2, device = ?3, device_name = ?4, introduction = ?5 WHERE replica = ?1"
        }
    }

    private var logSQL: String {
        switch self {
        case .insertChange:
            """
            INSERT INTO change (replica, sequence, stamp, operation, operation_count, payload_byte_count, context,
            has_left_out, blinding, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .changeStamp: "SELECT stamp FROM change WHERE replica = ? AND sequence = ?"
        case .changeHash: "SELECT hash FROM change WHERE replica = ? AND sequence = ?"
        case .changeOperations: "SELECT operation, operation_count FROM change WHERE replica = ? AND sequence = ?"
        case .changesFrom:
            """
            SELECT sequence, stamp, operation, operation_count, payload_byte_count, context, has_left_out, blinding
            FROM change WHERE replica = ? AND sequence >= ? ORDER BY sequence
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
            INSERT INTO run_signature (replica, sequence, operation_count, payload_byte_count, signature)
            VALUES (?, ?, ?, ?, ?)
            """
        case .deleteSignature: "DELETE FROM run_signature WHERE replica = ? AND sequence = ?"
        case .lastSignatures:
            """
            SELECT sequence, operation_count, payload_byte_count FROM run_signature WHERE replica = ?
            ORDER BY sequence DESC LIMIT 2
            """
        case .signatureAt: "SELECT signature FROM run_signature WHERE replica = ? AND sequence = ?"
        case .signatureFrom:
            "SELECT sequence FROM run_signature WHERE replica = ? AND sequence >= ? ORDER BY sequence LIMIT 1"
        default:
            "SELECT sequence FROM run_signature WHERE replica = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
        }
    }

    private var registerSQL: String {
        switch self {
        case .register:
            "SELECT stamp, replica, sequence, idx, is_removal, conflict_count FROM register WHERE register = ?"
        case .setRegister:
            """
            INSERT OR REPLACE INTO register (register, stamp, replica, sequence, idx, is_removal, conflict_count)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        case .registersOfObject:
            """
            SELECT stamp, replica, sequence, idx, is_removal, conflict_count, register FROM register
            WHERE register BETWEEN ? AND ?
            """
        case .conflictedRegisters:
            """
            SELECT stamp, replica, sequence, idx, is_removal, conflict_count, register FROM register
            WHERE register IN (SELECT register FROM version WHERE status = 1)
            """
        case .setVersion:
            """
            INSERT OR REPLACE INTO version (register, stamp, replica, sequence, idx, status) VALUES (?, ?, ?, ?, ?, ?)
            """
        default:
            "SELECT stamp, replica, sequence, idx FROM version WHERE register = ? AND status = 1"
        }
    }

    private var moveSQL: String {
        switch self {
        case .insertMove:
            """
            INSERT INTO move (stamp, replica, sequence, idx, object, parent, position, effective)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        case .setMove:
            "UPDATE move SET effective = ?5 WHERE stamp = ?1 AND replica = ?2 AND sequence = ?3 AND idx = ?4"
        case .movesInRange:
            """
            SELECT stamp, replica, sequence, idx, object, parent, position, effective FROM move
            WHERE stamp BETWEEN ? AND ? ORDER BY stamp
            """
        case .movesOfObject:
            """
            SELECT stamp, replica, sequence, idx, object, parent, position, effective FROM move INDEXED BY move_object
            WHERE object = ? AND effective = ? AND stamp BETWEEN ? AND ? ORDER BY stamp DESC
            """
        default: "SELECT DISTINCT object FROM move WHERE effective = 0"
        }
    }
}
