internal import CRDTCore
public import Foundation

/// A point in the history of a workspace: a time, or some changes with everything that their authors had seen.
///
/// A time means all changes up to then, by the clocks of their authors as far as these were right. Machines that have
/// the same changes show the same state for it. Changes that arrive later, but were made before, belong to it as well.
///
/// Changes name a state exactly: what is there never changes, whatever arrives later. ``Workspace/moment()`` and the
/// history of an object tell them.
public struct Moment: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case time(WallTime)
        /// In ascending order.
        case changes([Point])
        /// What a branch holds now, by its name or id; or the main timeline, by the name that means it.
        case branch(String)
    }

    let content: Content

    init(_ content: Content) { self.content = content }

    private static let branchPrefix = "branch:"

    /// The moment at a time; times before 1970 count as its beginning.
    public static func time(_ date: Date) -> Moment {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        return Moment(.time(WallTime(milliseconds: UInt64(exactly: min(max(milliseconds, 0), 0x1p47)) ?? 0)))
    }

    /// The state of a branch as it is when it is read.
    public static func branch(_ id: BranchID) -> Moment { Moment(.branch(id.description)) }

    /// Reads a moment as people and ``description`` write it.
    ///
    /// - Parameters:
    ///   - text: a time in ISO 8601 such as `2026-03-01`, `2026-03-01 14:30` or `2026-03-01T14:30:00+01:00`, which is
    ///     UTC without an offset; a time before now such as `2 days ago` or `90m ago`; `now`; or the names of changes,
    ///     each as `REPLICA-SEQUENCE-NAME`, with commas between them. The id of an operation names its change. A
    ///     branch is `branch:` with its name or id, and the main timeline `branch:main`.
    ///   - now: the time that `now` and `ago` mean.
    /// - Throws: ``PeerdError`` with `invalidArgument`.
    public init(_ text: String, now: Date = Date()) throws {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        if trimmed.hasPrefix(Self.branchPrefix) {
            let name = String(trimmed.dropFirst(Self.branchPrefix.count))
            self = Moment(.branch(name))
        } else if let date = MomentText.date(trimmed, now: now) {
            self = .time(date)
        } else if let points = MomentText.points(trimmed) {
            self.init(.changes(points))
        } else {
            throw PeerdError(
                .invalidArgument,
                "“\(text.prefix(80))” is no time, and names no changes.",
                advice: "Write a time like 2026-03-01, 2026-03-01T14:30:00Z or “2 days ago”, or copy the name of a "
                    + "change from the history."
            )
        }
    }
}

extension Moment: CustomStringConvertible, Codable {
    /// The moment as text, from which it can be read again.
    public var description: String {
        switch self.content {
        case .time(let time):
            let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
            return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        case .changes(let points): return points.map(MomentText.text).joined(separator: ",")
        case .branch(let name): return Self.branchPrefix + name
        }
    }

    /// Decodes the text of a moment.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the text of the moment.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}

extension Moment {
    /// The changes that count at the moment.
    func view(in transaction: inout some StoreTransaction) throws -> HistoryView {
        switch self.content {
        case .time(let time):
            let view = HistoryView(at: time)
            // What was merged counts from then on, whatever its own time is.
            let hasMerged = transaction.segmentIndices.contains { segment in
                let progress = transaction.progress(of: segment)
                return progress.branch != nil && progress.countedSequence >= progress.firstSequence
            }
            return hasMerged ? HistoryView(seen: try transaction.seen(through: view.lastStamp)) : view
        case .changes: return try HistoryView(seen: try self.seen(in: &transaction), in: &transaction)
        case .branch:
            return try HistoryView(seen: try self.seen(in: &transaction), namesMissing: true, in: &transaction)
        }
    }

    /// How far each segment counts at the moment.
    func seen(in transaction: inout some StoreTransaction) throws -> SeenSegments {
        switch self.content {
        case .time(let time): try transaction.seen(through: HistoryView(at: time).lastStamp)
        case .changes(let points): try Moment.seen(points, in: &transaction)
        case .branch(let name) where Branch.isMain(name): try transaction.closure(of: transaction.heads(of: nil))
        case .branch(let name):
            try transaction.closure(of: transaction.heads(of: Branch.find(name, in: transaction).opening.id))
        }
    }

    /// The changes with which all that counts at the moment on a timeline was seen.
    func heads(on branch: BranchID?, in transaction: inout some StoreTransaction) throws -> [SegmentPoint] {
        if case .time(let time) = self.content {
            let seen = try transaction.seen(through: HistoryView(at: time).lastStamp, on: branch)
            return try transaction.heads(in: seen)
        }
        return try transaction.heads(in: try self.seen(in: &transaction))
    }

    private static func seen(_ points: [Point], in transaction: inout some StoreTransaction) throws -> SeenSegments {
        var places: [SegmentPoint] = []
        for point in points {
            guard let place = try transaction.place(of: point), place.sequence > 0,
                place.sequence <= transaction.progress(of: place.segment).appliedSequence
            else {
                throw PeerdError(
                    .noSuchMoment,
                    "The change \(MomentText.text(point)) is not here, or is not applied yet.",
                    advice: "Sync with a machine that has it, or name another moment."
                )
            }
            places.append(place)
        }
        return try transaction.closure(of: places)
    }

    /// Everything that is applied.
    static func now(in transaction: inout some StoreTransaction) throws -> Moment {
        var points: [Point] = []
        for head in try transaction.heads() {
            guard let hash = try transaction.hash(at: head) else { continue }
            let replica = transaction.replicaID(head.segment)
            points.append(Point(replica: replica, sequence: head.sequence, name: ChangeName(hash)))
        }
        return Moment(.changes(points.sorted()))
    }
}
