internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Equivocation: two different changes with one dot. Found by comparing hashes, proved by two signatures, excluded by
/// everyone, and mended by the device it happened to.
extension Node where Store: ~Copyable {
    /// Compares one entry of a peer's frontier with our own chain.
    mutating func checkAgainstOwn(
        _ entry: FrontierEntry,
        on connection: PeerConnection
    ) throws(StoreError) {
        let view = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> OwnView? in
            guard let index = transaction.existingReplicaIndex(of: entry.replica) else { return nil }
            let record = transaction.replica(index)
            let hash = try transaction.hash(of: index, sequence: entry.sequence)
            return OwnView(record: record, hashThere: hash, isActive: index == self.author.activeReplica)
        }
        guard let view else { return }
        // Believed once of each device: a database goes back only while no process has it open.
        if view.isActive, entry.sequence > view.record.storedSequence, let device = connection.device,
            self.doubters.insert(device).inserted
        {
            try self.abandonReplica(.rolledBack)
        }
        #if PLANTED_BUGS
        if PlantedBug.differenceOverlooked.isPlanted { return }
        #endif
        let undisputed = view.record.sendableSequence
        guard entry.sequence > 0, entry.sequence <= undisputed, let hash = view.hashThere, hash != entry.hash else {
            return
        }
        // The two chains part somewhere up to here: find where. What follows on ours does not fit the peer's.
        connection.conversation.disputed.insert(entry.replica)
        #if PLANTED_BUGS
        if PlantedBug.disputedChainSent.isPlanted { connection.conversation.disputed.remove(entry.replica) }
        #endif
        try self.probe(entry.replica, upTo: entry.sequence, on: connection)
    }

    private struct OwnView {
        var record: ReplicaRecord
        var hashThere: Hash256?
        var isActive: Bool
    }

    // MARK: - Finding where chains part

    private mutating func probe(
        _ replica: ReplicaID,
        upTo sequence: UInt64,
        on connection: PeerConnection
    ) throws(StoreError) {
        var wanted: [UInt64] = []
        var step: UInt64 = 1
        var next = sequence
        while next >= 1, wanted.count < MessageLimits.probePointCountMax {
            wanted.append(next)
            guard next > step else { break }
            next -= step
            step *= 2
        }
        if wanted.last != 1, wanted.count < MessageLimits.probePointCountMax { wanted.append(1) }
        try self.sendProbe(replica, at: wanted.reversed(), on: connection)
    }

    private mutating func sendProbe(
        _ replica: ReplicaID,
        at sequences: [UInt64],
        on connection: PeerConnection
    ) throws(StoreError) {
        let points = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var points: [ChainPoint] = []
            guard let index = transaction.existingReplicaIndex(of: replica) else { return points }
            for sequence in sequences {
                guard let hash = try transaction.hash(of: index, sequence: sequence) else { continue }
                points.append(ChainPoint(sequence: sequence, hash: hash))
            }
            return points
        }
        if !points.isEmpty { self.send(.forkProbe(ForkProbe(replica: replica, points: points)), on: connection) }
    }

    /// Narrows down where two chains part; once it is known, sends our branch from there.
    mutating func answerProbe(_ probe: ForkProbe, on connection: PeerConnection) {
        do throws(StoreError) {
            let comparison = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                var agreed: UInt64 = 0
                var disputed: UInt64?
                guard let index = transaction.existingReplicaIndex(of: probe.replica) else {
                    return (agreed: agreed, disputed: disputed)
                }
                for point in probe.points {
                    guard let hash = try transaction.hash(of: index, sequence: point.sequence) else { break }
                    if hash == point.hash {
                        agreed = point.sequence
                    } else {
                        disputed = point.sequence
                        break
                    }
                }
                return (agreed: agreed, disputed: disputed)
            }
            guard let disputed = comparison.disputed, disputed > comparison.agreed else { return }
            connection.conversation.probeCount += 1
            guard connection.conversation.probeCount <= TransferLimits.probeCountMax else {
                self.violation(connection, "too many fork probes")
                return
            }
            guard disputed > comparison.agreed + 1 else {
                try self.sendOwnBranch(probe.replica, from: disputed, on: connection)
                return
            }
            let step = max(1, (disputed - comparison.agreed) / UInt64(MessageLimits.probePointCountMax / 2))
            var wanted = Array(stride(from: comparison.agreed + 1, through: disputed, by: Int(clamping: step)))
            if wanted.last != disputed { wanted.append(disputed) }
            if comparison.agreed > 0 { wanted.insert(comparison.agreed, at: 0) }
            try self.sendProbe(
                probe.replica,
                at: Array(wanted.prefix(MessageLimits.probePointCountMax)),
                on: connection
            )
        } catch {
            self.note(error)
        }
    }

    private mutating func sendOwnBranch(
        _ replica: ReplicaID,
        from sequence: UInt64,
        on connection: PeerConnection
    ) throws(StoreError) {
        let origin = ChainHash.origin(self.author.membership.workspace)
        let part = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> BranchPart? in
            guard let index = transaction.existingReplicaIndex(of: replica) else { return nil }
            let hash = sequence == 1 ? origin : try transaction.hash(of: index, sequence: sequence - 1)
            let run = try transaction.loadRun(of: index, from: sequence, limits: TransferLimits.branch, signed: true)
            guard let hash, let run else { return nil }
            return BranchPart(previous: hash, run: run)
        }
        if let part { self.send(.branch(part), on: connection) }
    }

    // MARK: - Proofs

    /// What follows a proof outside the transaction.
    mutating func forkProved(_ dot: Dot) {
        do throws(StoreError) {
            let name = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> String in
                guard let index = transaction.existingReplicaIndex(of: dot.replica) else { return "unknown" }
                return transaction.replica(index).introduction?.deviceName ?? "unknown"
            }
            self.effects.append(.notice(.equivocation(device: name, sequence: dot.sequence)))
            for connection in self.readyConnections {
                try self.shareFork(dot.replica, on: connection)
                self.requestBranches(from: connection)
            }
        } catch {
            self.note(error)
        }
    }

    /// Sends the proof of a fork to a peer that is not known to have it.
    mutating func shareFork(_ replica: ReplicaID, on connection: PeerConnection) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.forkProofKept.isPlanted { return }
        #endif
        let known = connection.conversation.sharedForks[replica] ?? .max
        let held = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            let index = transaction.existingReplicaIndex(of: replica)
            return (
                sequence: index.flatMap { transaction.replica($0).forkSequence },
                proof: try transaction.fact(NodeFact.fork(replica))
            )
        }
        guard let sequence = held.sequence, sequence < known, let bytes = held.proof,
            let proof = try? ForkProof(decoding: bytes)
        else { return }
        connection.conversation.sharedForks[replica] = sequence
        self.send(.forkProof(proof), on: connection)
    }

    /// Sends every proof that a peer is not known to have.
    ///
    /// One that came between our hello and the peer's is in the frontier of neither.
    mutating func shareForks(on connection: PeerConnection) {
        do throws(StoreError) {
            let forked = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                (0..<transaction.replicaCount).map { transaction.replica(ReplicaIndex(rawValue: UInt32($0))) }
                    .filter { $0.forkSequence != nil }.map(\.id)
            }
            for replica in forked { try self.shareFork(replica, on: connection) }
        } catch {
            self.failed(error, on: connection)
        }
    }

    mutating func receivedProof(_ proof: ForkProof, on connection: PeerConnection) {
        guard let dot = proof.disputed(in: self.author.membership, self.author.cryptography) else {
            self.violation(connection, "a proof that proves nothing")
            return
        }
        connection.conversation.sharedForks[dot.replica] =
            min(connection.conversation.sharedForks[dot.replica] ?? .max, dot.sequence)
        self.keep(proof, dot, from: connection)
    }

    mutating func keep(_ proof: ForkProof, _ dot: Dot, from connection: PeerConnection) {
        let standing = self.author.standing
        do throws(StoreError) {
            var isNew = false
            let summary = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                let index = try transaction.replicaIndex(of: dot.replica)
                isNew = dot.sequence < transaction.replica(index).forkSequence ?? .max
                var merge = Merge(now: self.now.wall)
                try self.author.record(proof, dot, &merge, in: &transaction)
                try merge.finish(in: &transaction)
                return merge.summary
            }
            // What waited for the chain that does not count any more may be applied now, and what had been applied may
            // be held, if the clock has been set back meanwhile.
            var applied = summary.appliedStamp
            #if PLANTED_BUGS
            if PlantedBug.proofNotObserved.isPlanted { applied = .zero }
            #endif
            self.author.clock.observe(applied)
            self.noteWaits()
            if isNew { self.forkProved(dot) }
            self.pumpAll()
        } catch {
            self.author.standing = standing
            self.failed(error, on: connection)
        }
    }

    /// The store failed in the middle of what a session does once: the next one begins it again.
    mutating func failed(_ error: StoreError, on connection: PeerConnection) {
        self.note(error)
        self.drop(connection)
    }
}
