internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// When parcels are packed and handed over.
struct ParcelExchange {
    /// When to look for something to leave or to hand over; nil if there is no reason to, in monotonic milliseconds.
    fileprivate(set) var due: UInt64?
    /// Since when devices are out of reach, in monotonic milliseconds.
    fileprivate var apart: [DeviceID: UInt64] = [:]

    fileprivate mutating func look(at time: UInt64) { self.due = min(self.due ?? time, time) }

    /// Something may have changed: a session, what is stored, or who reads what.
    ///
    /// More may change at once.
    mutating func noteChange(at time: UInt64) { self.look(at: time + Self.pause) }

    /// Before anything is looked for, in milliseconds.
    fileprivate static let pause: UInt64 = 1_000

    /// A parcel that was sent and is not confirmed.
    enum UnderWay: Hashable {
        /// Left with a carrier, for these devices: what they will have then.
        case left(Hash256, for: [DeviceID], SeenSegments, isFull: Bool)
        /// Handed over to the device that it is for.
        case handed(Hash256)

        fileprivate var id: Hash256 {
            switch self {
            case .left(let id, _, _, _), .handed(let id): id
            }
        }
    }
}

/// Parcels: what a device leaves with others for readers that it cannot reach.
///
/// Which changes that are is found as for a session with the device that they are for, of which it is known what it has
/// stored. There is one parcel under way in each session, and each way.
extension Node where Store: ~Copyable {
    /// Hands over what is carried for peers, and leaves with them what others lack that are out of reach.
    mutating func exchangeParcels() {
        let now = self.now.monotonicMilliseconds
        self.parcels.due = nil
        do throws(StoreError) {
            let isShared = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                transaction.circles.count > 1
            }
            // Devices of one user read everything, and carry it as their own.
            guard isShared else { return }
            self.noteApart()
            let apart = self.parcels.apart.filter { $0.value + ParcelLimits.patienceMilliseconds <= now }
            for connection in self.readyConnections where connection.parcel == nil {
                guard connection.session.isSettled else {
                    self.parcels.look(at: now + ParcelLimits.patienceMilliseconds)
                    continue
                }
                guard let device = connection.device else { continue }
                let carried = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                    try transaction.nextParcel(for: device)
                }
                if let carried, let parcel = try? Parcel(decoding: carried) {
                    connection.parcel = .handed(parcel.id)
                    self.send(.parcel(parcel), on: connection)
                } else if !apart.isEmpty, !connection.readsAll {
                    if connection.nextParcel <= now {
                        try self.leaveParcel(with: connection, for: Set(apart.keys))
                    } else {
                        self.parcels.look(at: connection.nextParcel)
                    }
                }
            }
        } catch {
            self.note(error)
        }
    }

    /// Takes note of who is out of reach, and when it will have been so for long enough.
    private mutating func noteApart() {
        let now = self.now.monotonicMilliseconds
        let connected = Set(self.readyConnections.compactMap(\.device))
        var apart: [DeviceID: UInt64] = [:]
        for keys in self.book.sortedKeys where keys.device != self.identity.device {
            guard let entry = self.book[keys], entry.isWanted, !connected.contains(keys.device) else { continue }
            let since = self.parcels.apart[keys.device] ?? now
            apart[keys.device] = since
            let due = since + ParcelLimits.patienceMilliseconds
            if due > now, !connected.isEmpty { self.parcels.look(at: due) }
        }
        self.parcels.apart = apart
    }

    /// Leaves with a peer the first of what devices out of reach lack, and the peer does not read.
    private mutating func leaveParcel(with connection: PeerConnection, for apart: Set<DeviceID>) throws(StoreError) {
        guard let carrier = connection.device else { return }
        self.noteAcknowledgements()
        let (own, judge, wall) = (self.identity.device, self.identity.standpoint, self.now.wall)
        let entries = self.book.sortedKeys.compactMap { self.book[$0] }.filter { apart.contains($0.device) }
        let (seen, left) = (self.memory.acknowledgements.seen, self.memory.left)
        let cryptography = self.cryptography
        let packed = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) -> Packed? in
            var packed: Packed?
            for entry in entries {
                guard let all = transaction.scope(of: entry.author, for: judge) else { continue }
                let scope = all.subtracting(connection.session.scope)
                if let packed, scope != packed.scope { continue }
                var known = seen[entry.device] ?? SeenSegments()
                known.formUnion(left.seen(by: entry.device, with: carrier, at: wall))
                known.formUnion(try transaction.seen(by: entry.device))
                guard transaction.holdsMore(than: known, within: scope) else { continue }
                guard var others = packed else {
                    packed = Packed(scope: scope, known: known, recipients: [(entry.device, entry.staticKey)])
                    continue
                }
                // What one of them has already does it no harm.
                guard others.recipients.count < ParcelLimits.recipientCountMax else { break }
                others.known = others.known.intersection(known)
                others.recipients.append((entry.device, entry.staticKey))
                packed = others
            }
            try packed?.pack(by: own, cryptography, in: &transaction)
            return packed
        }
        guard let packed, !packed.runs.isEmpty else { return }
        let parcel = Parcel.sealing(
            packed.runs,
            for: packed.recipients,
            from: own,
            at: wall,
            entropy: &self.replica.author.entropy
        )
        guard let parcel else { return }
        let devices = packed.recipients.map(\.device)
        connection.parcel = .left(parcel.id, for: devices, packed.sent, isFull: packed.isFull)
        self.send(.parcel(parcel), on: connection)
    }

    /// Takes a parcel in: opens what is for this device, and carries what is for others.
    mutating func take(_ parcel: Parcel, on connection: PeerConnection) {
        guard let sender = connection.device, let user = connection.author?.user else {
            return self.violation(connection, "a parcel before the hello")
        }
        let id = parcel.id
        do throws(StoreError) {
            if parcel.recipients.contains(where: { $0.device == self.identity.device }) {
                try self.open(parcel, from: connection)
            } else {
                // Others' parcels come from whoever packed them alone, and are for somebody else than the peer.
                guard parcel.sender == sender, !parcel.recipients.contains(where: { $0.device == sender }) else {
                    return self.violation(connection, "a parcel that is nothing to carry")
                }
                let now = self.now.wall
                let expiry = now.advanced(byMilliseconds: ParcelLimits.lifetimeMilliseconds)
                let record = ParcelRecord(id: id, user: user, expiry: expiry, bytes: parcel.encoded())
                try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                    try transaction.removeParcels(expiredAt: now)
                    let room = ParcelLimits.carriedByteCountMaxByUser - record.countedByteCount
                    try transaction.removeParcels(of: user, beyond: room)
                    try transaction.addParcel(record, for: parcel.recipients.map(\.device))
                }
                self.parcels.noteChange(at: self.now.monotonicMilliseconds)
            }
        } catch {
            // It is sent again in the next session.
            self.note(error)
            return self.drop(connection)
        }
        guard self.connections[connection.id] === connection else { return }
        self.send(.parcelTaken(id), on: connection)
    }

    /// Takes in the runs of a parcel, as if their author had sent them late.
    ///
    /// Whoever carried them is not to blame for what is wrong with them.
    private mutating func open(_ parcel: Parcel, from connection: PeerConnection) throws(StoreError) {
        guard var content = parcel.opened(by: self.identity.staticKey, of: self.identity.device) else { return }
        var rest = content.next()[...]
        while !rest.isEmpty {
            let intake = try self.replica.takeIn(Array(rest))
            let isRefused = intake.refusal != nil
            connection.traffic.pulledChangeCount += intake.summary.storedChangeCount
            connection.traffic.pulledOperationCount += intake.summary.storedOperationCount
            // Whoever carried it is told nothing of it.
            try self.afterIngest(intake, from: nil)
            // Which one was refused is not told: without the first the others have another chance.
            rest = isRefused ? rest.dropFirst() : []
            if rest.isEmpty { rest = content.next()[...] }
        }
    }

    /// A peer has the parcel that it was sent.
    mutating func parcelTaken(_ id: Hash256, on connection: PeerConnection) {
        guard let device = connection.device, let parcel = connection.parcel, parcel.id == id else {
            return self.violation(connection, "a parcel was taken that was not sent")
        }
        connection.parcel = nil
        let now = self.now.monotonicMilliseconds
        do throws(StoreError) {
            switch parcel {
            case .handed:
                try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                    try transaction.removeParcel(id, for: device)
                }
            case .left(_, let devices, let seen, let isFull):
                self.memory.left.note(seen, for: devices, with: device, at: self.now.wall)
                let bytes = self.memory.left.encoded
                try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                    try transaction.setFact(NodeFact.left, bytes)
                }
                if !isFull { connection.nextParcel = now + ParcelLimits.intervalMilliseconds }
            }
        } catch {
            self.note(error)
        }
        self.parcels.look(at: now)
    }
}

/// What goes into one parcel.
private struct Packed {
    /// The circles that all recipients read, and the carrier does not.
    let scope: CircleScope
    /// What all of them have.
    var known: SeenSegments
    var recipients: [(device: DeviceID, key: StaticKey)]
    /// Each as it would be sent.
    private(set) var runs: [[UInt8]] = []
    /// What they have then.
    private(set) var sent = SeenSegments()
    /// Whether there is more.
    private(set) var isFull = false

    init(scope: CircleScope, known: SeenSegments, recipients: [(device: DeviceID, key: StaticKey)]) {
        (self.scope, self.known, self.recipients) = (scope, known, recipients)
    }

    mutating func pack(
        by device: DeviceID,
        _ cryptography: SodiumCryptography,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let limit = ParcelLimits.packedByteCount
        var session = SyncSession(toward: self.known, within: self.scope, byteCount: limit, cryptography)
        var byteCount = 0
        while byteCount < limit, case .run(let run) = try session.next(after: nil, own: device, in: &transaction) {
            self.runs.append(run.bytes)
            byteCount += run.bytes.count
        }
        self.sent = session.sent
        self.isFull = transaction.holdsMore(than: self.sent, within: self.scope)
    }
}

extension StoreTransaction {
    /// Whether anything of some circles is stored that is not among what was seen.
    fileprivate func holdsMore(than seen: SeenSegments, within scope: CircleScope) -> Bool {
        self.segmentIndices.contains { segment in
            let progress = self.progress(of: segment)
            let isMore = progress.storedSequence >= progress.firstSequence && progress.storedSequence > seen[segment]
            return isMore && scope.contains(progress.circle)
        }
    }

    /// What a device has shown to have by what it has written.
    fileprivate mutating func seen(by device: DeviceID) throws(StoreError) -> SeenSegments {
        var ends: [SegmentPoint] = []
        for segment in self.segmentIndices where self.segment(segment).device == device {
            let progress = self.progress(of: segment)
            if progress.hasApplied { ends.append(SegmentPoint(segment: segment, sequence: progress.appliedSequence)) }
        }
        return try self.closure(of: ends)
    }
}
