package import CRDTCore
internal import MergeModel
package import SyncProtocol

/// One way to cost others much: what is sent before, and what is measured.
package struct Expense {
    package let name: String
    /// What is sent, after something that is not counted.
    package let measured: (CostlyMember) throws -> [Message]
    package let prepared: (CostlyMember) throws -> [Message]
    /// Whether each message arrives alone, so that each is a transaction of its own.
    package let isDripped: Bool
    /// How many devices send it, each all of it.
    package let peerCount: Int

    init(
        _ name: String,
        dripped: Bool = false,
        peers: Int = 1,
        after prepared: @escaping (CostlyMember) throws -> [Message] = { _ in [] },
        _ measured: @escaping (CostlyMember) throws -> [Message]
    ) {
        self.name = name
        self.prepared = prepared
        self.measured = measured
        self.isDripped = dripped
        self.peerCount = peers
    }

    package typealias Draft = CostlyMember.Draft

    package static var all: [Expense] { self.operations + self.statements + self.places + self.chains + self.messages }

    package static func object(_ number: Int) -> ObjectID { Workload.object(number) }

    /// The least that can be written to an object.
    static func touch(_ number: Int) -> Edit { .set(self.object(number), name: "n", value: .null) }

    /// Edits, as many to a change as it may hold.
    package static func changes(_ edits: [Edit]) -> [Draft] {
        var drafts: [Draft] = []
        var open: [Edit] = []
        var byteCount = 0
        for edit in edits {
            let isFull = byteCount + edit.byteCount > Limits.editByteCountMax - 1024 || open.count == 65_000
            if isFull {
                drafts.append(Draft(edits: open))
                (open, byteCount) = ([], 0)
            }
            open.append(edit)
            byteCount += edit.byteCount
        }
        return open.isEmpty ? drafts : drafts + [Draft(edits: open)]
    }

    /// A run for each change.
    package static func runs(_ member: CostlyMember, _ edits: [Edit]) -> [Message] {
        self.changes(edits).map { member.run([$0]) }
    }

    static func point(_ entry: FrontierEntry) -> Point {
        Point(replica: entry.replica, sequence: entry.sequence, name: ChangeName(entry.hash))
    }
}
