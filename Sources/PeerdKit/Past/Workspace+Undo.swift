internal import CRDTCore
internal import Engine
public import Foundation
internal import NIOConcurrencyHelpers

/// Whose actions an undo takes back: always those of the user of this machine.
public struct ActionScope: Hashable, Sendable {
    /// The machines that did them.
    public enum Machine: Hashable, Sendable {
        /// This machine.
        case this
        /// All machines of the user.
        case all
        /// Another one, by its id as ``Status/device`` gives it.
        case other(String)
    }

    /// The programs that did them, as ``Workspace/action(by:isolation:_:)`` names them.
    public enum Program: Hashable, Sendable {
        /// The program of the action around the call, or the one without a name.
        case this
        /// All programs.
        case all
        /// The one with a name.
        case named(String)
    }

    /// The machines.
    public var machine: Machine
    /// The programs.
    public var program: Program

    /// Whose actions.
    public init(machine: Machine = .this, program: Program = .this) {
        (self.machine, self.program) = (machine, program)
    }

    /// What this machine and this program have done.
    public static var own: ActionScope { ActionScope() }
}

/// An action that was taken back, or done again.
public struct UndoneAction: Hashable, Sendable {
    /// An edit of an action.
    public struct Edit: Hashable, Sendable {
        /// The object that it changes.
        public let object: ObjectID?
        /// The edit that the author made.
        public let action: LogEntry.Action
        /// Tells whether it is not the edit that was taken back, or done again, but an undo of it, which a merge had
        /// brought.
        public let isUndo: Bool
    }

    /// A part of what the action had changed that stays as it is.
    public struct Kept: Hashable, Sendable {
        /// The parts of an object.
        public enum Part: Hashable, Sendable {
            /// The object with all of its properties and its place.
            case object
            /// A property, by its name.
            case property(String)
            /// The place in the tree.
            case place
        }

        /// The reasons for which something stays.
        public enum Reason: String, Hashable, Sendable {
            /// Somebody has edited it since.
            case edited
            /// The object is deleted, or somebody else deleted it as well.
            case deleted
            /// Other objects are below it.
            case hasChildren
            /// The parent of before is gone, or is below the object now.
            case parentGone
            /// The former value is not here: it was dropped, or has not come.
            case unknown
            /// One transaction cannot hold it beside the rest; restore it by itself.
            case tooLarge
        }

        /// The object.
        public let object: ObjectID
        /// The part of it that stays.
        public let part: Part
        /// The reason.
        public let reason: Reason
        /// The author of the edit that stands in the way, if there is one.
        public let author: Author?
    }

    /// The last change of the action; the state of this moment has it.
    public let moment: Moment
    /// The time at which that was written.
    public let date: Date
    /// The machine that wrote it.
    public let author: String?
    /// The name of the program that did it; empty for one without a name.
    public let program: String
    /// The number of its transactions that were taken back, or done again.
    public private(set) var transactionCount = 0
    /// The edits of these, the first 1,000.
    public private(set) var edits: [Edit] = []
    /// The number of all of them.
    public private(set) var editCount = 0
    /// What stays as it is, the first 1,000 parts; empty if all of the action was taken back, or done again.
    public private(set) var kept: [Kept] = []
    /// The number of all of them.
    public var keptCount: Int { self.keptParts.count }
    /// Tells whether anything changed: everything may stay, or be what it should be already.
    public private(set) var hasEffect = false
    /// Tells whether it was the merge of a branch: only a redo brings back what that had brought, and no other merge.
    public let isMerge: Bool
    /// The number of its transactions that are left, since something else was done meanwhile.
    public fileprivate(set) var leftCount = 0

    /// Several changes of the action may be about one part.
    private var keptParts: Set<KeptPart> = []

    private struct KeptPart: Hashable {
        let object: ObjectID
        let part: Kept.Part
    }

    private static let namedCountMax = 1000

    fileprivate init(_ step: UndoneStep) {
        let report = step.reports[0]
        self.moment = Moment(.changes([report.change]))
        self.date = Date(milliseconds: report.stamp.milliseconds)
        (self.author, self.program, self.isMerge) = (report.deviceName, report.label, report.isMerged)
    }

    /// Adds what one transaction has taken back, or done again.
    fileprivate mutating func add(_ step: UndoneStep, readBy device: DeviceID) {
        self.transactionCount += 1
        for report in step.reports { self.add(report, readBy: device) }
    }

    private mutating func add(_ report: UndoReport, readBy device: DeviceID) {
        self.hasEffect = self.hasEffect || report.hasEffect
        self.editCount += report.edits.count
        for edit in report.edits.prefix(Self.namedCountMax - self.edits.count) {
            self.edits.append(
                Edit(object: edit.object, action: LogEntry.Action(edit), isUndo: report.isUndo)
            )
        }
        for kept in report.kept.lazy.map({ Kept($0, readBy: device) }) {
            let isNew = self.keptParts.insert(KeptPart(object: kept.object, part: kept.part)).inserted
            if isNew, self.kept.count < Self.namedCountMax { self.kept.append(kept) }
        }
    }
}

extension UndoneAction.Kept {
    fileprivate init(_ kept: UndoReport.Kept, readBy device: DeviceID) {
        self.object = kept.object
        self.part =
            switch kept.part {
            case .object: .object
            case .property(let name): .property(name)
            case .place: .place
            }
        self.reason =
            switch kept.reason {
            case .edited: .edited
            case .deleted: .deleted
            case .hasChildren: .hasChildren
            case .parentGone: .parentGone
            case .unknown: .unknown
            case .tooLarge: .tooLarge
            }
        self.author = kept.author.map { Author($0, of: device) }
    }
}

/// What a restore did.
public struct Restoration: Hashable, Sendable {
    /// The number of objects that were there then: the one that was asked for, and what was below it.
    public let objectCount: Int
    /// The number of those that are created again, since they were deleted.
    public let revivedCount: Int
    /// Tells whether the object is not put where it was, because its parent of then is gone, or is below it now.
    public let staysInPlace: Bool
}

extension Workspace {
    /// Takes back the last actions that this program has done on this machine.
    ///
    /// An action is a transaction, or what was written within ``action(by:isolation:_:)``, as an import is; or the
    /// merge of a branch. Each of its transactions is taken back by one of its own, the last first: values, places,
    /// creations and deletions become what it had found. What somebody has edited since stays as it is, and is
    /// named. Nothing that somebody else deleted comes back.
    ///
    /// On a branch, these are the actions that were done there; the main timeline stays as it is.
    ///
    /// - Parameters:
    ///   - count: the most actions to take back, from 1 to 1,000.
    ///   - scope: whose actions.
    ///   - branch: the branch; nil for the main timeline.
    ///   - progress: a function that is called after each transaction, with the actions that are taken back, and the
    ///     transactions of the next one that are and that are left.
    /// - Returns: the actions, the latest first; fewer than asked for if there are no more, or if something else was
    ///   done in the scope meanwhile.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `tooLarge`, `noSuchBranch`, or as ``write(_:)`` does;
    ///   `CancellationError`. What was taken back until then stays so.
    /// - Complexity: O(*n* log *m*) for *n* edits to properties with *m* writes, however much is taken back already.
    @discardableResult
    public func undo(
        _ count: Int = 1,
        of scope: ActionScope = .own,
        on branch: BranchID? = nil,
        progress: UndoProgress? = nil
    ) async throws -> [UndoneAction] {
        try await self.reverse(count, isRedo: false, scope, on: branch, progress)
    }

    /// Does actions again that ``undo(_:of:on:progress:)`` took back in the same scope, the last of them first.
    ///
    /// A redo right after an undo restores the state exactly, but for the times of the last update. Once something
    /// else was done in the scope, there is nothing to redo.
    ///
    /// - Parameters:
    ///   - count: the most actions to do again, from 1 to 1,000.
    ///   - scope: whose actions.
    ///   - branch: the branch; nil for the main timeline.
    ///   - progress: a function that is called after each transaction; see ``undo(_:of:on:progress:)``.
    /// - Returns: the actions, in the order in which they were done again.
    /// - Throws: as ``undo(_:of:on:progress:)`` does.
    @discardableResult
    public func redo(
        _ count: Int = 1,
        of scope: ActionScope = .own,
        on branch: BranchID? = nil,
        progress: UndoProgress? = nil
    ) async throws -> [UndoneAction] {
        try await self.reverse(count, isRedo: true, scope, on: branch, progress)
    }

    /// Hears how many actions are taken back, or done again, and of the next one how many transactions are, and how
    /// many are left.
    public typealias UndoProgress = @Sendable (_ actionCount: Int, _ doneCount: Int, _ leftCount: Int) -> Void

    /// Makes a property what it was at a moment, by a new write.
    ///
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - object: the object that has it.
    ///   - moment: the moment.
    ///   - branch: the branch that takes the write; nil for the main timeline.
    /// - Returns: the number of objects, which is 1.
    /// - Throws: ``PeerdError`` with `noSuchMoment`; `noSuchObject` if the object is deleted, or was not there then;
    ///   `noSuchBranch`; or as ``write(_:)`` does.
    @discardableResult
    public func restore(
        _ name: String,
        of object: ObjectID,
        to moment: Moment,
        on branch: BranchID? = nil
    ) async throws -> Restoration {
        try await self.restoring(on: branch) { transaction in
            try transaction.restore(name, of: object, to: moment)
        }
    }

    /// Makes an object what it was at a moment, with everything that was below it, by new writes.
    ///
    /// Objects that were deleted since are created again. Objects that came below it since stay.
    ///
    /// - Parameters:
    ///   - object: the object at the top.
    ///   - moment: the moment.
    ///   - branch: the branch that takes the writes; nil for the main timeline.
    /// - Returns: how many objects that were.
    /// - Throws: ``PeerdError`` with `noSuchMoment`; `noSuchObject` if the object was not there then; `tooLarge`;
    ///   `noSuchBranch`; or as ``write(_:)`` does.
    /// - Complexity: O(*n* log *n*) in the objects below it and their properties.
    @discardableResult
    public func restore(
        _ object: ObjectID,
        to moment: Moment,
        on branch: BranchID? = nil
    ) async throws -> Restoration {
        try await self.restoring(on: branch) { transaction in try transaction.restore(object, to: moment) }
    }

    private func restoring(
        on branch: BranchID?,
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> RestoreReport
    ) async throws -> Restoration {
        let report = try await self.write(on: branch, body)
        return Restoration(
            objectCount: report.objectCount,
            revivedCount: report.revivedCount,
            staysInPlace: report.staysInPlace
        )
    }

    package static let undoneCountMax = 1000

    private func reverse(
        _ count: Int,
        isRedo: Bool,
        _ scope: ActionScope,
        on branch: BranchID?,
        _ progress: UndoProgress?
    ) async throws -> [UndoneAction] {
        guard (1...Self.undoneCountMax).contains(count) else {
            throw PeerdError(
                .invalidArgument,
                "1 to \(Self.undoneCountMax) actions can be taken back or done again in one go.",
                advice: "Ask several times."
            )
        }
        let program = RunningAction.current?.program ?? ""
        let scope = try UndoScope(scope, device: self.identity.device, program: program)
        var reversed: [UndoneAction] = []
        while reversed.count < count {
            let (number, isFirst) = (reversed.count, reversed.isEmpty)
            let written = reversed.reduce(0) { $0 + $1.transactionCount }
            // What takes back one action is an action by itself, whatever it is a part of.
            let undone = try await RunningAction(program).perform { () async throws -> UndoneAction? in
                if !isFirst { try Task.checkCancellation() }
                let first = try await self.write(behind: written, on: branch) {
                    try $0.reverse(isRedo: isRedo, scope)
                }
                guard let first else { return nil }
                return try await self.reversing(first, behind: written, on: branch) { progress?(number, $0, $1) }
            }
            guard let undone else { break }
            reversed.append(undone)
            progress?(reversed.count, 0, 0)
            if undone.leftCount > 0 { break }
        }
        return reversed
    }

    /// Takes back the rest of an action, or does it again, a transaction at a time.
    private func reversing(
        _ first: UndoneStep,
        behind written: Int,
        on branch: BranchID?,
        _ progress: (_ doneCount: Int, _ leftCount: Int) -> Void
    ) async throws -> UndoneAction {
        var (undone, step) = (UndoneAction(first), first)
        undone.add(step, readBy: self.identity.device)
        while let rest = step.rest {
            try Task.checkCancellation()
            progress(undone.transactionCount, rest.transactionCount)
            let count = written + undone.transactionCount
            guard let next = try await self.write(behind: count, on: branch, { try $0.reverse(rest) }) else {
                undone.leftCount = rest.transactionCount
                break
            }
            step = next
            undone.add(step, readBy: self.identity.device)
        }
        return undone
    }
}

extension UndoScope {
    fileprivate init(_ scope: ActionScope, device own: DeviceID, program: String) throws {
        let (device, label): (DeviceID?, String?)
        switch scope.machine {
        case .this: device = own
        case .all: device = nil
        case .other(let text):
            guard let bytes = Hexadecimal.bytes(text).flatMap({ Bytes32($0) }) else {
                throw PeerdError(.invalidArgument, "\(text) is not the id of a machine.", advice: "See its status.")
            }
            device = DeviceID(bytes: bytes)
        }
        switch scope.program {
        case .this: label = program
        case .all: label = nil
        case .named(let name): label = try Workspace.checked(name)
        }
        self.init(device: device, label: label)
    }
}

extension WriteTransaction {
    mutating func reverse(isRedo: Bool, _ scope: UndoScope) throws -> UndoneStep? {
        try self.translating { transaction throws(WriteRefusal) in
            try transaction.reverse(isRedo: isRedo, scope: scope)
        }
    }

    mutating func reverse(_ rest: UndoRest) throws -> UndoneStep? {
        try self.translating { transaction throws(WriteRefusal) in try transaction.reverse(rest) }
    }

    mutating func restore(_ name: String, of object: ObjectID, to moment: Moment) throws -> RestoreReport {
        let view = try self.readingStore { store in try moment.view(in: &store) }
        return try self.translating { transaction throws(WriteRefusal) in
            try transaction.restore(name, of: object, to: view)
        }
    }

    mutating func restore(_ object: ObjectID, to moment: Moment) throws -> RestoreReport {
        let view = try self.readingStore { store in try moment.view(in: &store) }
        return try self.translating { transaction throws(WriteRefusal) in try transaction.restore(object, to: view) }
    }
}
