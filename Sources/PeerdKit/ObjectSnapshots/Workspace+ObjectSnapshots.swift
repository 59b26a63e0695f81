internal import CRDTCore
internal import Engine
public import Foundation
internal import Persistence

extension Workspace {
    /// Takes a snapshot of an object and everything visible below it, at one moment.
    ///
    /// It is kept in the database of this machine.
    ///
    /// - Parameters:
    ///   - object: the object at the top.
    ///   - name: a name for people, of at most 512 bytes.
    ///   - branch: the branch whose state it takes; nil for the main timeline.
    /// - Returns: the snapshot.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchBranch`, or `tooLarge` beyond 32 MiB of canonical JSON;
    ///   `readOnly`, `closed`, or what a disk can refuse.
    /// - Complexity: O(*n* log *n*) in the objects, with memory for their text.
    @discardableResult
    public func takeSnapshot(
        of object: ObjectID,
        name: String? = nil,
        on branch: BranchID? = nil
    ) async throws -> ObjectSnapshot {
        let driver = try self.driver()
        guard name?.utf8.count ?? 0 <= Limits.nameByteCountMax else {
            throw PeerdError(
                .tooLarge,
                "The name of a snapshot has at most \(Limits.nameByteCountMax) bytes.",
                advice: "Choose a shorter one."
            )
        }
        let time = SystemClock.now().wall.milliseconds
        let text = try await self.reading(at: branch.map { .branch($0) }) { state in
            try SnapshotText.take(of: object, name: name, time: time, in: &state)
        }
        guard let text else {
            throw PeerdError(.noSuchObject, "There is no object \(object).", advice: "Check the id.")
        }
        return try await Self.keep(text, driver).snapshot
    }

    /// Returns the snapshots of an object, or all, the oldest first.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or what a disk can refuse.
    public func snapshots(of object: ObjectID? = nil) async throws -> [ObjectSnapshot] {
        try await self.reading { transaction in try transaction.snapshots(of: object).map { ObjectSnapshot($0) } }
    }

    /// Removes a snapshot; the objects stay as they are.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject` if there is no such snapshot; `readOnly`, `closed`, or what a disk
    ///   can refuse.
    public func deleteSnapshot(_ id: ObjectSnapshot.ID) async throws {
        let isDeleted = try await self.driver().keep { transaction throws(StoreError) in
            try transaction.deleteSnapshot(id.value)
        }
        if !isDeleted { throw Self.noSnapshot("\(id)") }
    }

    /// Returns a snapshot as a file: canonical JSON in the form `peerd-snapshot-1`, whose `objects` are those of an
    /// export.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject` if there is no such snapshot; `closed`, or what a disk can refuse.
    public func exportSnapshot(_ id: ObjectSnapshot.ID) async throws -> Data {
        let content = try await self.reading { transaction in try transaction.snapshotContent(id.value) }
        guard let content else { throw Self.noSnapshot("\(id)") }
        return Data(content)
    }

    /// Keeps a snapshot that was exported, on this machine or another, also of another workspace.
    ///
    /// The objects do not change until it is restored.
    ///
    /// - Parameter json: the result of ``exportSnapshot(_:)``.
    /// - Returns: the snapshot; the same one if it is kept already.
    /// - Throws: ``PeerdError`` with `importInvalid`, `tooLarge`, `readOnly`, `closed`, or what a disk can refuse.
    @discardableResult
    public func importSnapshot(from json: Data) async throws -> ObjectSnapshot {
        try await Self.keep(SnapshotContent(parsing: json).text, self.driver()).snapshot
    }

    /// Makes an object, and everything below it, what it was in a snapshot.
    ///
    /// The restore is an ordinary edit, which the other machines get; the history stays. Objects that are gone are
    /// created again under their ids, properties are set or removed, and places are restored. Objects that were put
    /// below since then stay, and so do properties that the snapshot could not have. If nothing differs, nothing is
    /// written.
    ///
    /// It is one transaction, if it fits into one: at most 65,535 operations and about 6 MiB. A larger one is written
    /// in several, parents first; if it is broken off between two, another call writes the rest.
    ///
    /// - Parameters:
    ///   - id: the snapshot.
    ///   - branch: the branch that takes the edits; nil for the main timeline.
    ///   - progress: a function that is called after each transaction.
    /// - Returns: the changes.
    /// - Throws: ``PeerdError`` with `noSuchObject` if there is no such snapshot; `noSuchBranch`; as ``write(_:)``
    ///   does.
    @discardableResult
    public func restoreSnapshot(
        _ id: ObjectSnapshot.ID,
        on branch: BranchID? = nil,
        progress: (@Sendable (SnapshotRestoration) -> Void)? = nil
    ) async throws -> SnapshotRestoration {
        let driver = try self.driver()
        let content = try SnapshotContent(parsing: try await self.exportSnapshot(id))
        return try await self.action {
            var restore = SnapshotRestore(content: content)
            while true {
                try Task.checkCancellation()
                let plan = try await self.reading(at: branch.map { .branch($0) }) { state in
                    try RestorePlan(content, in: &state)
                }
                let part = restore.nextPart(of: plan)
                if part.isEmpty { return restore.result }
                switch await driver.write(Transaction(part.map(\.step)), on: branch) {
                case .success:
                    restore.wrote(part)
                    progress?(restore.result)
                    if part.count == plan.steps.count { return restore.result }
                case .failure(let refusal): try restore.wasRefused(refusal, part)
                }
            }
        }
    }

    // MARK: - For the local API

    /// Returns the snapshot that an id, or the first four or more digits of one, names.
    package func snapshot(named text: String) async throws -> ObjectSnapshot {
        guard let range = IdentifierRange(prefix: text) else { throw Self.noSnapshot(text) }
        let found = try await self.reading { transaction in
            try transaction.snapshots(from: range.first, to: range.last, limit: 2)
        }
        guard let first = found.first else { throw Self.noSnapshot(text) }
        guard found.count == 1 else {
            throw PeerdError(
                .noSuchObject,
                "\(text) fits several snapshots.",
                advice: "Give more digits of the id."
            )
        }
        return ObjectSnapshot(first)
    }

    private static func keep(
        _ text: SnapshotText,
        _ driver: NodeDriver
    ) async throws -> (snapshot: ObjectSnapshot, isNew: Bool) {
        let (record, bytes) = (text.record, text.bytes)
        let isNew = try await driver.keep { transaction throws(StoreError) in
            try transaction.insert(record, content: bytes)
        }
        return (ObjectSnapshot(record), isNew)
    }

    private static func noSnapshot(_ text: String) -> PeerdError {
        PeerdError(.noSuchObject, "There is no snapshot \(text).", advice: "Check the id.")
    }
}

/// A restore on its way through its transactions.
private struct SnapshotRestore {
    private(set) var result = SnapshotRestoration()
    private let content: SnapshotContent
    private var (operationCountMax, byteCountMax) = (60_000, 5 << 20)
    private var refusalCount = 0
    private var changed: Set<ObjectID> = []
    private var moved: Set<ObjectID> = []
    private var created: Set<ObjectID> = []

    /// Others may write so often between a plan and its transaction.
    private static let refusalCountMax = 20

    init(content: SnapshotContent) { self.content = content }

    /// The steps of the next transaction.
    mutating func nextPart(of plan: RestorePlan) -> ArraySlice<RestorePlan.PlannedStep> {
        self.result.missingParent = plan.missingParent
        self.result.missingPropertyCount = plan.missingPropertyCount
        var (operationCount, byteCount) = (0, 0)
        let end = plan.steps.firstIndex { step in
            operationCount += step.operationCount
            byteCount += step.byteCount
            return operationCount > self.operationCountMax || byteCount > self.byteCountMax
        }
        return plan.steps[..<max(min(1, plan.steps.count), end ?? plan.steps.count)]
    }

    mutating func wrote(_ part: ArraySlice<RestorePlan.PlannedStep>) {
        for step in part {
            switch step.step {
            case .create(let creation): if case .given(let id) = creation.id { self.created.insert(id) }
            case .set(let id, _, _), .unset(let id, _): self.changed.insert(id)
            case .move(let id, _, _): self.moved.insert(id)
            case .delete: break
            }
        }
        self.result.transactionCount += 1
        self.result.createdCount = self.created.count
        self.result.changedCount = self.changed.subtracting(self.created).count
        self.result.movedCount = self.moved.subtracting(self.created).count
    }

    /// Throws unless another plan may succeed: somebody wrote meanwhile, or siblings had to make room.
    mutating func wasRefused(_ refusal: WriteRefusal, _ part: ArraySlice<RestorePlan.PlannedStep>) throws {
        self.refusalCount += 1
        let failure = PeerdError(refusal).behind(self.result.transactionCount)
        guard self.refusalCount <= Self.refusalCountMax else { throw failure }
        switch refusal {
        case .tooLarge where part.count > 1:
            self.operationCountMax /= 2
            self.byteCountMax /= 2
        case .noSuchObject, .notASibling, .wouldCloseCycle: break
        default: throw failure
        }
    }
}
