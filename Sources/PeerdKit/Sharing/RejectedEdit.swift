internal import CRDTCore
internal import Engine
internal import Persistence
internal import SyncProtocol

/// An edit that counts nowhere, because its author had no right to make it.
///
/// It is in the log of all machines that have it, its author's included.
public struct RejectedEdit: Identifiable, Hashable, Sendable, Codable {
    /// Why an edit does not count.
    public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        /// The right to it was taken from the person, and whoever took it did not have the edit.
        case removed
        /// The machine was removed, or one that vouches for it.
        case machineRemoved = "machine removed"
        /// The person may do less than that.
        case lessGranted = "less granted"
        /// Nobody has given the person a right that counts.
        case notGranted = "not granted"
    }

    /// The edit as the log has it.
    public let entry: LogEntry
    /// The transaction that it belongs to: what ``Workspace/adopt(_:)`` takes.
    public let change: String
    /// The person who made it.
    public let person: Person
    /// Why it does not count.
    public let reason: Reason

    /// The id of the operation, which is the same on all machines.
    public var id: String { self.entry.id }
}

/// Some edits that were rejected, transaction by transaction.
package struct RejectedPage: Sendable {
    package var edits: [RejectedEdit] = []
    /// The place of the last transaction; nil if nothing comes behind it.
    package var next: RejectedPlace?
}

/// The place of a transaction among all, in one database.
package struct RejectedPlace: Hashable, Sendable {
    fileprivate var segment: UInt32
    fileprivate var sequence: UInt64

    /// The place as a cursor.
    package var text: String { "\(self.segment)-\(self.sequence)" }

    fileprivate init(segment: UInt32, sequence: UInt64) { (self.segment, self.sequence) = (segment, sequence) }

    /// Reads what ``text`` is; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let segment = UInt32(parts[0]), let sequence = UInt64(parts[1]),
            sequence < Limits.sequenceMax
        else { return nil }
        self.init(segment: segment, sequence: sequence)
    }
}

extension Workspace {
    /// Returns the edits of the main timeline that count nowhere, since their authors had no right to make them.
    ///
    /// - Parameter person: the name or the id of the person whose edits are wanted; nil for everybody's.
    /// - Returns: the edits, transaction by transaction.
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n*) in what such persons have written since.
    public func rejected(by person: String? = nil) async throws -> [RejectedEdit] {
        var (edits, place): ([RejectedEdit], RejectedPlace?) = ([], nil)
        repeat {
            let page = try await self.rejectedPage(by: person, after: place, limit: Self.rejectedCountMax)
            edits += page.edits
            place = page.next
        } while place != nil
        return edits
    }

    /// Rejected edits that are read at once.
    private static let rejectedCountMax = 1_000

    /// Returns some of them, at least of one transaction.
    package func rejectedPage(
        by person: String?,
        after place: RejectedPlace?,
        limit: Int
    ) async throws -> RejectedPage {
        let (founder, user, device) = (self.identity.founder, self.identity.user, self.identity.device)
        return try await self.reading { transaction in
            var store: any StoreTransaction = transaction
            let people = try People(founder: founder, user: user, in: &store)
            let wanted = try person.map { try people.user($0) }
            let rights = try transaction.judgedRights(founder: founder)
            let ended = try transaction.endedCircles()
            var (page, byteCount) = (RejectedPage(), 0)
            for segment in transaction.segmentIndices where segment.rawValue >= place?.segment ?? 0 {
                guard let author = transaction.segment(segment).introduction?.user, wanted == nil || author == wanted
                else { continue }
                // Who is removed is not sent that; the owner's machines tell him how far his chains count.
                let told = author == user ? transaction.toldEnd(of: segment, by: ended) : nil
                guard let limits = told.map({ RightEnds(all: $0) }) ?? rights.limits(of: segment) else { continue }
                var chain = ChainEnd(of: segment, in: transaction)
                let last = segment.rawValue == place?.segment ? place?.sequence ?? 0 : 0
                chain.firstSequence = max(chain.firstSequence, min(limits.least, Limits.sequenceMax) + 1, last + 1)
                chain.sequence = chain.appliedSequence
                chain.limits = limits
                var reader = LogReader(chain: chain, object: nil, device: device)
                while !reader.isAtEnd {
                    for entry in try reader.nextEntries(in: &transaction) where entry.status == .rejected {
                        guard let source = entry.source, let need = source.edit.need else { continue }
                        let reached = RejectedPlace(segment: segment.rawValue, sequence: source.write.sequence)
                        let isFull = page.edits.count >= limit || byteCount >= Page.byteCountMax
                        if isFull, page.next != reached { return page }
                        if case .set(_, let value) = entry.action { byteCount += value.byteCount }
                        let circle = transaction.progress(of: segment).circle
                        let reason = try rights.rights(in: circle)?
                            .reason(for: need, at: source.write.point, in: &transaction)
                        page.next = reached
                        page.edits.append(
                            RejectedEdit(
                                entry: entry,
                                change: "\(source.replica):\(source.write.sequence)",
                                person: people.person(author),
                                reason: told == nil ? RejectedEdit.Reason(reason ?? .notGranted) : .removed
                            )
                        )
                    }
                }
            }
            page.next = nil
            return page
        }
    }

    /// Makes edits of one's own of what counts nowhere of a transaction, as far as it still can be done.
    ///
    /// - Parameter change: ``RejectedEdit/change`` of any of the edits, or the first 4 or more digits of it and its
    ///   number.
    /// - Returns: how many edits were made.
    /// - Throws: ``PeerdError`` with `invalidArgument` if nothing of that transaction was rejected, or if several are
    ///   meant; `notPermitted`; or as ``write(_:)`` does.
    /// - Complexity: O(*n*) in all that was rejected, read a part at a time.
    @discardableResult
    public func adopt(_ change: String) async throws -> Int {
        let parts = change.split(separator: ":", omittingEmptySubsequences: false)
        var (points, place): (Set<SegmentPoint>, RejectedPlace?) = ([], nil)
        repeat {
            let page = try await self.rejectedPage(by: nil, after: place, limit: Self.rejectedCountMax)
            for edit in page.edits {
                let own = edit.change.split(separator: ":")
                guard parts.count == 2, parts[0].count >= 4, own[0].hasPrefix(parts[0]), own[1] == parts[1] else {
                    continue
                }
                if let point = edit.entry.source?.write.point { points.insert(point) }
            }
            place = page.next
        } while place != nil
        guard let point = points.first, points.count == 1 else {
            throw PeerdError(
                .invalidArgument,
                points.isEmpty
                    ? "Nothing of a transaction “\(change.prefix(80))” was rejected."
                    : "Several transactions are called “\(change.prefix(80))”.",
                advice: "See what was rejected."
            )
        }
        return try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in try local.adopt(point) }
        }
    }
}

extension RejectedEdit.Reason {
    fileprivate init(_ reason: RightReason) {
        self =
            switch reason {
            case .removed: .removed
            case .deviceRemoved: .machineRemoved
            case .grantedLess: .lessGranted
            case .isOwner, .granted, .notGranted: .notGranted
            }
    }
}

extension StoreTransaction {
    /// How far a chain counts by the word of the machines of whoever owns its circle; nil if they have not said.
    fileprivate func toldEnd(of segment: SegmentIndex, by ended: [Circle: [ReplicaID: UInt64]]) -> UInt64? {
        guard let ends = ended[self.circles[self.progress(of: segment).circle]] else { return nil }
        if let end = ends[self.replicaID(segment)] { return end }
        // One that they have nothing of, or one of too many.
        return ends.count < MessageLimits.endedChainCountMax ? 0 : nil
    }
}
