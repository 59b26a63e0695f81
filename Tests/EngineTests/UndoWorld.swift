import CRDTCore
import MergeModel
import PeerCrypto

@testable import Engine

/// Devices of two users that write, take back and exchange changes, over stores in memory.
///
/// They write to the main timeline, or to a branch that begins with nothing.
struct UndoWorld {
    private(set) var history = GeneratedHistory()
    /// The branch that is written to; nil for the main timeline.
    private let branch: BranchID?
    private var devices: [Device] = []
    private var time = WallTime(milliseconds: 1_700_000_000_000)
    /// The changes that are taken back, by their hashes, and those that say so.
    private(set) var undone: Set<Hash256> = []
    private(set) var marks: Set<Hash256> = []
    private var seed: UInt64 = 0

    private struct Device {
        let replica: ReplicaID
        let id: DeviceID
        let user: UserID
        let node: TestNode<MemoryStore>
        var tip: Hash256?
    }

    init(users: [UserID], isOnBranch: Bool = false) throws {
        self.branch = isOnBranch ? BranchID(of: users[0], nonce: 1) : nil
        for (number, user) in users.enumerated() {
            let device = TestDevice(number: UInt64(number), user: user)
            let nonce = Bytes16(high: UInt64(number), low: 9)
            let replica = device.replica(nonce: nonce)
            self.history.devices[replica] = device
            let store = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
            let node = TestNode(store: store, objects: [], now: self.time)
            try node.receive([Charter.home.run])
            self.devices.append(Device(replica: replica, id: device.device, user: user, node: node))
            try self.append([.introduce(device.introduction(nonce: nonce, branch: self.branch))], by: number)
        }
        if let branch { try self.open(branch, by: users[0]) }
    }

    /// Opens the branch on the main timeline, for everybody.
    private mutating func open(_ branch: BranchID, by user: UserID) throws {
        let device = TestDevice(number: 99, user: user)
        let nonce = Bytes16(high: 99, low: 9)
        let replica = device.replica(nonce: nonce)
        self.history.devices[replica] = device
        let opening = BranchOpening(id: branch, parent: nil, name: "b", base: [])
        let edits: [Edit] = [.introduce(device.introduction(nonce: nonce)), .branch(.opens(opening))]
        let stamp = Stamp(milliseconds: self.time.milliseconds)
        let change = self.history.append(replica, after: nil, stamp: stamp, context: [], edits)
        for device in self.devices { try device.node.receive([self.history.sealed([change])]) }
    }

    /// Writes what a caller wants as one change; returns what was refused.
    @discardableResult
    mutating func write(
        _ device: Int,
        _ body: (inout LocalTransaction) throws(WriteRefusal) -> Void
    ) throws -> WriteRefusal? {
        self.time = self.time.advanced(byMilliseconds: 1)
        let (id, user) = (self.devices[device].id, self.devices[device].user)
        self.seed += 1
        var seed = [UInt8](repeating: 0, count: EntropyStream.seedByteCount)
        for position in 0..<8 { seed[position] = UInt8(truncatingIfNeeded: self.seed >> (8 * position)) }
        let secret = SecretBytes(seed)
        var (edits, refusal): ([Edit], WriteRefusal?) = ([], nil)
        let branch = self.branch
        try self.devices[device].node.read { transaction throws(StoreError) in
            guard let entropy = EntropyStream(seed: secret) else { preconditionFailure("32 bytes") }
            let plan = TransactionPlan(namespace: ObjectID(bytes: Bytes16(high: 1, low: 1)), user: user)
            var state: any CircleReading = transaction
            if let branch { state = HistoryState(try transaction.view(of: branch), of: transaction) }
            var local = LocalTransaction(
                plan: plan,
                entropy: entropy,
                store: transaction,
                state: state,
                branch: branch,
                device: id,
                author: nil,
                founder: user,
                action: ActionContext()
            )
            do throws(WriteRefusal) {
                try body(&local)
                edits = try local.finish().edits
            } catch {
                refusal = error
            }
        }
        if !edits.isEmpty { try self.append(edits, by: device) }
        return refusal
    }

    /// Takes back, or does again, on one device.
    ///
    /// `other`: the device whose steps these are; nil for its own.
    mutating func reverse(_ device: Int, isRedo: Bool, of other: Int? = nil) throws -> UndoReport? {
        let scope = other.map { UndoScope(device: self.devices[$0].id, label: "") }
        var report: UndoReport?
        let refusal = try self.write(device) { local throws(WriteRefusal) in
            report = try local.reverse(isRedo: isRedo, scope: scope)?.reports.first
        }
        if let refusal { throw refusal }
        guard let found = report, let change = self.history.changes.first(where: { $0.point == found.change }) else {
            return report
        }
        if isRedo { self.undone.remove(change.hash) } else { self.undone.insert(change.hash) }
        if let tip = self.devices[device].tip { self.marks.insert(tip) }
        return report
    }

    /// How many changes are looked at for the next undo or redo of a device; 0 if there is none.
    func lookedAtCount(_ device: Int, isRedo: Bool) throws -> Int {
        let (id, branch) = (self.devices[device].id, self.branch)
        let scope = UndoScope(device: id, label: "")
        let author = UndoAuthor(user: self.devices[device].user, device: id, scope: scope)
        return try self.devices[device].node.read { transaction throws(StoreError) in
            let history = History(try transaction.view(of: branch))
            return try transaction.nextUndo(for: author, isRedo: isRedo, on: branch, in: history)?.lookedAtCount ?? 0
        }
    }

    mutating func append(_ edits: [Edit], by device: Int) throws {
        let own = self.devices[device]
        let (context, last) = try own.node.read { transaction throws(StoreError) -> ([Point], Stamp) in
            var (points, last): ([Point], Stamp) = ([], .zero)
            for segment in transaction.segmentIndices {
                let (replica, progress) = (transaction.replicaID(segment), transaction.progress(of: segment))
                last = max(last, progress.appliedStamp)
                let place = SegmentPoint(segment: segment, sequence: progress.appliedSequence)
                guard replica != own.replica, let hash = transaction.header(at: place)?.hash else { continue }
                points.append(Point(replica: replica, sequence: place.sequence, name: ChangeName(hash)))
            }
            return (points.sorted(), last)
        }
        let stamp = max(Stamp(milliseconds: self.time.milliseconds), last.successor ?? last)
        let change = self.history.append(own.replica, after: own.tip, stamp: stamp, context: context, edits)
        self.devices[device].tip = change.hash
        try own.node.receive([self.history.sealed([change])])
    }

    /// Everybody gets everything.
    func synchronise() throws {
        for device in self.devices {
            for change in self.history.changes where !device.node.stored.contains(change.hash) {
                try device.node.receive([self.history.sealed([change])])
            }
        }
    }

    // MARK: - States

    func state(_ device: Int) throws -> [ObjectID: VisibleObject] {
        let branch = self.branch
        return try self.devices[device].node.read { transaction throws(StoreError) in
            guard let branch else { return try VisibleObject.all(of: &transaction) }
            var state = HistoryState(try transaction.view(of: branch), of: transaction)
            return try VisibleObject.all(of: &state)
        }
    }

    func hasMovesWithoutEffect(_ device: Int) throws -> Bool {
        try self.devices[device].node.read { transaction throws(StoreError) in
            !transaction.movesWithoutEffect().isEmpty
        }
    }

    /// The state as if what is taken back, and what says so, had never been written.
    func ideal() -> [ObjectID: VisibleObject] {
        // Every device has the charter, and names it.
        var changes = [Charter.home.change]
        for var change in self.history.changes {
            if self.undone.contains(change.hash) || self.marks.contains(change.hash) { change.edits = [] }
            changes.append(change)
        }
        let now = self.time.advanced(byMilliseconds: 1_000_000)
        return VisibleObject.all(of: NaiveModel(NaiveHistory(changes, founder: TestDevice.user, now: now)))
    }
}
