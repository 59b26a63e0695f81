internal import CRDTCore
internal import Engine
internal import Foundation
internal import PeerdKit
internal import Persistence

/// A comparison of the databases as they are with the one that all devices reach.
///
/// Conflicts, undone moves and revivals are new if no device holds both sides of them yet.
struct MergeComparison {
    let devices: [PreviewedDevice]
    let summaries: [StateSummary]
    let options: PreviewOptions
    let progress: PreviewProgress

    /// No device is this machine: authors are named alike for everyone.
    private static let nobody = DeviceID(bytes: Bytes32(0, 0, 0, 0))

    /// The lives of all objects of which a device lacks something, before and after.
    private struct Presences {
        var before: [[ObjectID: ObjectPresence]]
        var after: [ObjectID: ObjectPresence]
        /// The objects, ascending.
        var objects: [ObjectID]
    }

    /// Compares the databases with the end of an order.
    func outcome(of ending: SyncOrders.Ending) throws -> (outcome: Preview.Outcome, missing: [Preview.Missing]) {
        var store = try ending.database.open(origin: self.devices[0].origin)
        let changes = try store.reading { try MissingChanges(in: &$0, self.summaries, self.progress) }
        let objects = changes.objects.sorted()
        var before: [[ObjectID: ObjectPresence]] = []
        for device in self.devices {
            var initial = try device.database.open(origin: device.origin)
            before.append(try initial.reading { try Self.presences(of: objects, in: &$0) })
        }
        return try store.reading { transaction in
            let after = try Self.presences(of: objects, in: &transaction)
            let presences = Presences(before: before, after: after, objects: objects)
            var outcome = Preview.Outcome()
            outcome.blobReferenceCount = changes.blobReferenceCount
            outcome.objectCount = try transaction.visibleObjects().count
            try self.addConflicts(to: &outcome, changes, in: &transaction)
            try self.addMovesUndone(to: &outcome, changes, in: &transaction)
            outcome.revivals = try self.revivals(presences, changes, in: &transaction)
            outcome.waits = try self.waits(in: &transaction)
            let missing = self.devices.indices.map { device in
                var missing = changes.missing(on: device)
                missing.vanishingObjectCount = objects.count { object in
                    before[device][object]?.isVisible == true && after[object]?.isVisible == false
                }
                return missing
            }
            for object in Set(outcome.namedObjects + missing.flatMap { $0.mostChanged.map(\.object) }).sorted() {
                guard let index = try transaction.existingObjectIndex(of: object) else { continue }
                outcome.objects.append(try Object(index, in: &transaction))
            }
            return (outcome, missing)
        }
    }

    private static func presences(
        of objects: [ObjectID],
        in transaction: inout SQLiteStore.Transaction
    ) throws -> [ObjectID: ObjectPresence] {
        var presences: [ObjectID: ObjectPresence] = [:]
        for object in objects { presences[object] = try ObjectPresence(of: object, in: &transaction) }
        return presences
    }

    // MARK: - Conflicts

    private func addConflicts(
        to outcome: inout Preview.Outcome,
        _ changes: MissingChanges,
        in transaction: inout SQLiteStore.Transaction
    ) throws {
        for candidate in try transaction.conflictCandidates() {
            guard try transaction.object(candidate.object).isVisible,
                let conflict = try Conflict(candidate, readBy: Self.nobody, in: &transaction),
                let (winner, others) = try transaction.versions(of: candidate)
            else { continue }
            var known: Set<String> = []
            for other in others where changes.isKnown(winner.map { [other, $0] } ?? others) {
                known.insert(try transaction.name(of: other))
            }
            outcome.add(conflict, without: known)
        }
        outcome.conflicts.sort { ConflictPlace($0) < ConflictPlace($1) }
    }

    private func addMovesUndone(
        to outcome: inout Preview.Outcome,
        _ changes: MissingChanges,
        in transaction: inout SQLiteStore.Transaction
    ) throws {
        for move in try transaction.movesWithoutEffect() {
            let name = try transaction.name(of: move.write)
            let hadEffect = self.devices.indices.contains { device in
                changes.holds(move.write.point, device: device)
                    && !self.summaries[device].movesWithoutEffect.contains(name)
            }
            let record = try transaction.object(move.object)
            guard hadEffect, record.isVisible else { continue }
            let version = try Conflict.Version(move.write, readBy: Self.nobody, in: &transaction)
            outcome.movesUndone.append(MoveWithoutEffect(object: record.id, move: version))
        }
        outcome.movesUndone.sort { ($0.object, $0.move.id) < ($1.object, $1.move.id) }
    }

    // MARK: - Revivals

    private func revivals(
        _ presences: Presences,
        _ changes: MissingChanges,
        in transaction: inout SQLiteStore.Transaction
    ) throws -> [Preview.Revival] {
        var revivals: [Preview.Revival] = []
        for object in presences.objects {
            guard let after = presences.after[object], after.isVisible else { continue }
            let deletedOn = self.devices.indices.filter { presences.before[$0][object]?.isDeleted == true }
            guard !deletedOn.isEmpty else { continue }
            let edit = after.isAlive ? changes.edits[object] : nil
            let deletion = changes.deletions[object]
            // An author who knew of the deletion wanted the object back.
            if let edit, let deletion, try transaction.had(deletion, seenBy: edit) { continue }
            revivals.append(
                Preview.Revival(
                    object: object,
                    deletedOn: deletedOn.map { self.devices[$0].id },
                    deletion: try deletion.map { try Self.write($0, in: &transaction) },
                    edit: try edit.map { try Self.write($0, in: &transaction) }
                )
            )
        }
        return revivals
    }

    private static func write(
        _ write: WriteReference,
        in transaction: inout SQLiteStore.Transaction
    ) throws -> Preview.Write {
        Preview.Write(
            author: Author(transaction.segment(write.segment).introduction, of: self.nobody),
            date: Date(milliseconds: write.stamp.milliseconds),
            action: try transaction.edit(write).map { LogEntry.Action($0) } ?? .unread
        )
    }

    // MARK: - Changes that wait

    private func waits(in transaction: inout SQLiteStore.Transaction) throws -> [Status.Wait] {
        let end = self.options.endTime(deviceCount: self.devices.count)
        var merge = Merge(now: end, founder: self.devices[0].founder)
        let waits = try merge.waits(in: &transaction)
        return waits.sorted { $0.key.rawValue < $1.key.rawValue }.map { line, wait in
            let record = transaction.segment(line)
            let reason: Status.Wait.Reason =
                switch wait {
                case .held(let until): .held(until: Date(milliseconds: until.milliseconds))
                case .missing: .missingChanges
                }
            return Status.Wait(
                deviceName: record.introduction?.deviceName ?? "?",
                changeCount: Int(clamping: record.storedSequence - record.appliedSequence),
                reason: reason
            )
        }
    }
}

extension Preview.Outcome {
    /// Takes in the part of a conflict that no device knows yet.
    fileprivate mutating func add(_ conflict: Conflict, without known: Set<String>) {
        let losers = conflict.losers.filter { !known.contains($0.id) }
        guard !losers.isEmpty else {
            self.knownConflictCount += 1
            return
        }
        self.conflicts.append(
            Conflict(object: conflict.object, subject: conflict.subject, winner: conflict.winner, losers: losers)
        )
    }

    /// The objects that the lists of the outcome name.
    fileprivate var namedObjects: [ObjectID] {
        self.conflicts.map(\.object) + self.movesUndone.map(\.object) + self.revivals.map(\.object)
    }
}

extension SQLiteStore {
    /// Reads the database by code that can throw anything.
    fileprivate mutating func reading<Result>(
        _ body: (inout SQLiteStore.Transaction) throws -> Result
    ) throws -> Result {
        let result = try self.read { transaction throws(StoreError) in
            Swift.Result { try body(&transaction) }
        }
        return try result.get()
    }
}
