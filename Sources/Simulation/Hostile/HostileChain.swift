internal import CRDTCore
internal import Engine

/// A chain that a hostile member writes: where it ends, and what was written since it turned.
struct HostileChain {
    let replica: ReplicaID
    /// What the replica's id is made of, for a chain that is opened here; nil for one that its store has.
    let nonce: Bytes16?
    /// The sequence and hash of the last change its store has.
    private let storedSequence: UInt64
    private let storedHash: Hash256
    private(set) var lastStamp: Stamp
    /// What was written since.
    private(set) var runs: [VerifiedRun] = []

    /// A chain that goes on from a store.
    init(continuing record: SegmentRecord, stampedAt stamp: Stamp) {
        self.replica = record.id
        self.nonce = nil
        self.storedSequence = record.storedSequence
        self.storedHash = record.storedHash
        self.lastStamp = stamp
    }

    /// A chain that begins.
    init(replica: ReplicaID, nonce: Bytes16, origin: Hash256) {
        self.replica = replica
        self.nonce = nonce
        self.storedSequence = 0
        self.storedHash = origin
        self.lastStamp = .zero
    }

    var lastSequence: UInt64 { self.runs.last?.run.lastSequence ?? self.storedSequence }
    var lastHash: Hash256 { self.runs.last?.hashes.last ?? self.storedHash }
    /// The first sequence that is not in the store.
    var firstOwnSequence: UInt64 { self.storedSequence + 1 }

    /// The hash of a change that was written here, or of the last one before.
    func hash(at sequence: UInt64) -> Hash256? {
        if sequence == self.storedSequence { return self.storedHash }
        for verified in self.runs where sequence >= verified.run.firstSequence && sequence <= verified.run.lastSequence
        {
            return verified.hashes[Int(sequence - verified.run.firstSequence)]
        }
        return nil
    }

    mutating func append(_ run: VerifiedRun, stamp: Stamp) {
        self.runs.append(run)
        self.lastStamp = stamp
    }
}

/// One change before it is signed.
struct HostileDraft {
    var stamp: Stamp
    var context: [Point] = []
    var edits: [Edit]
}

extension WorkStep {
    /// The operations that a member writes who asks no state what is allowed.
    var hostileEdits: [Edit] {
        switch self {
        case .create(let number, let parent):
            let object = Workload.object(number)
            var edits: [Edit] = [.create(object, type: "item", kind: "")]
            if let parent { edits.append(.move(object, Place(parent: Workload.object(parent), position: .initial))) }
            return edits
        case .set(let number, let property):
            let name = Workload.propertyNames[property % Workload.propertyNames.count]
            return [.set(Workload.object(number), name: name, value: .string("hostile"))]
        case .unset(let number, let property):
            let name = Workload.propertyNames[property % Workload.propertyNames.count]
            return [.unset(Workload.object(number), name: name)]
        case .assign(let number, let name, let text):
            let object = Workload.object(number)
            return [.create(object, type: "item", kind: ""), .set(object, name: name, value: .string(text))]
        case .clear(let number, let name): return [.unset(Workload.object(number), name: name)]
        case .move(let number, let parent):
            let place = Place(parent: parent.map { Workload.object($0) }, position: .initial)
            return [.move(Workload.object(number), place)]
        case .delete(let number): return [.delete(Workload.object(number))]
        case .twins, .insert, .fill, .spread: return []
        }
    }
}
