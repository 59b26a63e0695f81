internal import CRDTCore
internal import Engine
public import Foundation
internal import NIOConcurrencyHelpers

/// A transaction that was taken back, or done again.
public struct UndoneTransaction: Hashable, Sendable {
    /// An edit of a transaction.
    public struct Edit: Hashable, Sendable {
        /// The object that it changes.
        public let object: ObjectID?
        /// The edit that the author made.
        public let action: LogEntry.Action
    }

    /// A part of what the transaction had changed that stays as it is.
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

    /// The change that was taken back or done again; the state of this moment has it.
    public let moment: Moment
    /// The time at which it was written.
    public let date: Date
    /// The machine that wrote it.
    public let author: String?
    /// The edits of the transaction.
    public let edits: [Edit]
    /// What stays as it is; empty if all of the transaction was taken back, or done again.
    public let kept: [Kept]
    /// Tells whether anything changed: everything may stay, or be what it should be already.
    public let hasEffect: Bool

    init(_ report: UndoReport, readBy device: DeviceID) {
        self.moment = Moment(.changes([report.change]))
        self.date = Date(milliseconds: report.stamp.milliseconds)
        self.author = report.deviceName
        self.hasEffect = report.hasEffect
        self.edits = report.edits.map { Edit(object: $0.object, action: LogEntry.Action($0)) }
        self.kept = report.kept.map { kept in
            let part: Kept.Part =
                switch kept.part {
                case .object: .object
                case .property(let name): .property(name)
                case .place: .place
                }
            let reason: Kept.Reason =
                switch kept.reason {
                case .edited: .edited
                case .deleted: .deleted
                case .hasChildren: .hasChildren
                case .parentGone: .parentGone
                case .unknown: .unknown
                case .tooLarge: .tooLarge
                }
            let author = kept.author.map { Author($0, of: device) }
            return Kept(object: kept.object, part: part, reason: reason, author: author)
        }
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
    /// Takes back the last transactions that were written on this machine.
    ///
    /// Each is taken back by a transaction of its own: values, places, creations and deletions become what they would
    /// be without it. What somebody has edited since stays as it is, and is named. Nothing that somebody else deleted
    /// comes back.
    ///
    /// On a branch, these are the transactions that count there; the main timeline stays as it is. Once a branch is
    /// merged, its transactions are taken back like those of the main timeline.
    ///
    /// - Parameters:
    ///   - count: the most transactions to take back, from 1 to 1,000.
    ///   - branch: the branch; nil for the main timeline.
    /// - Returns: the transactions, the latest first; fewer than asked for if there are no more.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `tooLarge`, `noSuchBranch`, or as ``write(_:)`` does. Earlier
    ///   ones of several stay taken back.
    /// - Complexity: O(*n* log *m*) for *n* edits to properties with *m* writes, however much is taken back already.
    @discardableResult
    public func undo(_ count: Int = 1, on branch: BranchID? = nil) async throws -> [UndoneTransaction] {
        try await self.reverse(count, isRedo: false, on: branch)
    }

    /// Does transactions again that ``undo(_:on:)`` took back on this machine, the last of them first.
    ///
    /// A redo right after an undo restores the state exactly, but for the times of the last update. Once something
    /// else was written on this machine, there is nothing to redo.
    ///
    /// - Parameters:
    ///   - count: the most transactions to do again, from 1 to 1,000.
    ///   - branch: the branch; nil for the main timeline.
    /// - Returns: the transactions, in the order in which they were done again.
    /// - Throws: as ``undo(_:on:)`` does.
    @discardableResult
    public func redo(_ count: Int = 1, on branch: BranchID? = nil) async throws -> [UndoneTransaction] {
        try await self.reverse(count, isRedo: true, on: branch)
    }

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

    private func reverse(_ count: Int, isRedo: Bool, on branch: BranchID?) async throws -> [UndoneTransaction] {
        guard (1...Self.undoneCountMax).contains(count) else {
            throw PeerdError(
                .invalidArgument,
                "1 to \(Self.undoneCountMax) transactions can be taken back or done again in one go.",
                advice: "Ask several times."
            )
        }
        var reversed: [UndoneTransaction] = []
        for _ in 0..<count {
            let report = try await self.write(on: branch) { transaction in try transaction.reverse(isRedo: isRedo) }
            guard let report else { break }
            reversed.append(UndoneTransaction(report, readBy: self.identity.device))
        }
        return reversed
    }
}

extension WriteTransaction {
    mutating func reverse(isRedo: Bool) throws -> UndoReport? {
        try self.translating { transaction throws(WriteRefusal) in try transaction.reverse(isRedo: isRedo) }
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
