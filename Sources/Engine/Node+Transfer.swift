internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Sending changes. The database is the queue: runs are loaded when a connection has room, never before.
extension Node where Store: ~Copyable {
    mutating func pumpAll() {
        var last: EncodedRun?
        for connection in self.readyConnections { self.pump(connection, after: &last) }
    }

    mutating func pump(_ connection: PeerConnection) {
        var last: EncodedRun?
        self.pump(connection, after: &last)
    }

    /// Sends what the peer lacks, as far as its credit and the connection's queue allow.
    ///
    /// `last`: what was sent last, perhaps to another peer; nothing may have been stored since.
    private mutating func pump(_ connection: PeerConnection, after last: inout EncodedRun?) {
        guard connection.device != nil, connection.conversation.comparison.isComplete,
            self.connections[connection.id] != nil
        else { return }
        while connection.conversation.window.free > 0, connection.unsentByteCount < TransferLimits.unsentByteCountMax {
            do throws(StoreError) {
                guard let run = try self.nextRun(for: connection, after: last) else {
                    if !connection.conversation.saidCaughtUp {
                        connection.conversation.saidCaughtUp = true
                        self.send(.caughtUp, on: connection)
                    }
                    return
                }
                self.send(run, on: connection)
                last = run
            } catch {
                self.note(error)
                return
            }
        }
    }

    private mutating func send(_ run: EncodedRun, on connection: PeerConnection) {
        connection.conversation.window.sent(run.bytes.count)
        connection.conversation.sentSequences[run.replica] = run.lastSequence
        #if PLANTED_BUGS
        if PlantedBug.longRunOvershoots.isPlanted, run.changeCount > 5 {
            connection.conversation.sentSequences[run.replica] = run.lastSequence + 1
        }
        #endif
        connection.traffic.pushedChangeCount += run.changeCount
        connection.traffic.pushedOperationCount += run.operationCount
        self.transmit(connection.link.seal(encoded: run.bytes, now: self.now.monotonicMilliseconds), on: connection)
    }

    /// The run to send next: of the chains the peer lacks something of, the one whose next change is stamped first, so
    /// that causes mostly come before effects.
    private mutating func nextRun(
        for connection: PeerConnection,
        after last: EncodedRun?
    ) throws(StoreError) -> EncodedRun? {
        let sent = connection.conversation.sentSequences
        let device = self.author.identity.device
        #if PLANTED_BUGS
        let active = self.author.activeReplica
        #endif
        let isLazy = connection.conversation.isPeerLazy
        let disputed = connection.conversation.disputed
        let limits = TransferLimits.streamed(connection.conversation.window)
        return try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> EncodedRun? in
            var candidates: [(index: ReplicaIndex, next: UInt64)] = []
            for position in 0..<transaction.replicaCount {
                let index = ReplicaIndex(rawValue: UInt32(position))
                #if PLANTED_BUGS
                if PlantedBug.onlyOwnSent.isPlanted, index != active { continue }
                if PlantedBug.formerChainNotPushed.isPlanted, isLazy, index != active { continue }
                #endif
                let record = transaction.replica(index)
                // Of all that the device has written, for it announces only what it has from others: a chain that it
                // gave up may have changes that could not be sent yet.
                guard !isLazy || record.device == device else { continue }
                let next = (sent[record.id] ?? 0) + 1
                guard next <= record.sendableSequence, !disputed.contains(record.id) else { continue }
                candidates.append((index, next))
            }
            guard var best = candidates.first else { return nil }
            if candidates.count > 1 {
                var bestStamp: Stamp?
                for candidate in candidates {
                    let stamp = try transaction.stamp(of: candidate.index, sequence: candidate.next)
                    if let stamp, bestStamp.map({ stamp < $0 }) ?? true {
                        best = candidate
                        bestStamp = stamp
                    }
                }
            }
            // What was just written goes to every peer: it is loaded and compressed once.
            if let last, last.replica == transaction.replica(best.index).id, last.firstSequence == best.next,
                last.bytes.count <= limits.byteCountMax
            {
                return last
            }
            let run = try transaction.loadRun(of: best.index, from: best.next, limits: limits, signed: true)
            return run.map { EncodedRun($0) }
        }
    }
}

/// A run as it goes to a peer.
private struct EncodedRun {
    let replica: ReplicaID
    let firstSequence: UInt64
    let lastSequence: UInt64
    let changeCount: Int
    let operationCount: Int
    let bytes: [UInt8]

    init(_ run: Run) {
        self.replica = run.replica
        self.firstSequence = run.firstSequence
        self.lastSequence = run.lastSequence
        self.changeCount = run.changes.count
        self.operationCount = run.operations.count
        self.bytes = Message.run(run).encoded()
    }
}

extension ReplicaRecord {
    /// How far the chain is sent to peers: not beyond a proved fork.
    var sendableSequence: UInt64 {
        guard let fork = self.forkSequence else { return self.storedSequence }
        return min(self.storedSequence, fork > 0 ? fork - 1 : 0)
    }
}
