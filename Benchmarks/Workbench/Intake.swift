import CRDTCore
import SyncProtocol

/// What a merge took, part by part.
struct Timing {
    var decoding = Duration.zero
    var verifying = Duration.zero
    var merging = Duration.zero

    var total: Duration { self.decoding + self.verifying + self.merging }
}

extension Duration {
    var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) * 1e-18
    }
}

/// Takes runs in as a node does: decoded, verified against what is stored, merged.
struct Intake {
    let membership: Membership
    private let cryptography = SodiumCryptography()
    private let clock = ContinuousClock()
    private(set) var timing = Timing()
    private(set) var operationCount = 0
    /// Whether something that counted, or did not, was judged anew.
    private(set) var isRevised = false
    private var reader = MessageReader()
    private var merge: Merge

    init(membership: Membership) {
        self.membership = membership
        self.merge = Merge(now: Workload.now, founder: membership.founder)
    }

    /// Decodes a piece and merges the runs that are complete.
    mutating func take(_ piece: [UInt8], in transaction: inout some StoreTransaction) throws {
        self.reader.append(piece)
        while let run = try self.decodeNext() {
            let verified = try self.verify(run, in: &transaction)
            let start = self.clock.now
            guard try self.merge.receive(verified, in: &transaction) == .stored else {
                throw Failure("a run does not fit")
            }
            self.timing.merging += self.clock.now - start
            self.operationCount += run.operations.count
        }
    }

    /// Ends the transaction's merge.
    mutating func finish(in transaction: inout some StoreTransaction) throws {
        self.timing.merging += try self.clock.measure { try self.merge.finish(in: &transaction) }
        self.isRevised = self.merge.summary.isRevised
        self.merge = Merge(now: Workload.now, founder: self.membership.founder)
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            guard record.appliedSequence == record.storedSequence else {
                throw Failure("a workload is not applied as a whole")
            }
        }
    }

    mutating func addMerging(_ duration: Duration) { self.timing.merging += duration }

    private mutating func decodeNext() throws -> Run? {
        let start = self.clock.now
        defer { self.timing.decoding += self.clock.now - start }
        guard let received = try self.reader.next() else { return nil }
        guard case .run(let run) = received.message else { throw Failure("not a run") }
        return run
    }

    private mutating func verify(_ run: Run, in transaction: inout some StoreTransaction) throws -> VerifiedRun {
        let start = self.clock.now
        defer { self.timing.verifying += self.clock.now - start }
        var known: SegmentRecord?
        if let index = transaction.firstSegment(of: run.replica) { known = transaction.segment(index) }
        var previous = known?.storedHash ?? ChainHash.origin(self.membership.workspace)
        if let name = run.previous {
            let point = Point(replica: run.replica, sequence: run.firstSequence - 1, name: name)
            if let place = try transaction.place(of: point), let hash = try transaction.hash(at: place) {
                previous = hash
            }
        }
        return try VerifiedRun.verify(
            run,
            previous: previous,
            device: known?.introduction?.device,
            workspace: self.membership.workspace,
            self.cryptography
        )
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
