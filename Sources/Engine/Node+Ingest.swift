internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Taking in changes from peers: verified, stored and merged in one transaction, then acknowledged.
extension Node where Store: ~Copyable {
    mutating func ingest(_ runs: [Run], from connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.diskFullForGood.isPlanted, case .diskFull = self.storeFailure { return self.drop(connection) }
        #endif
        let standing = self.author.standing
        do throws(StoreError) {
            var acceptances: [RunAcceptance] = []
            let summary = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                acceptances = []
                var merge = Merge(now: self.now.wall)
                let ownSequences = self.author.ownSequences(of: runs, in: transaction)
                for run in runs {
                    let acceptance = try self.author.accept(run, &merge, in: &transaction)
                    acceptances.append(acceptance)
                    if acceptance.endsSession { break }
                    if case .fork(let proof, let dot) = acceptance {
                        try self.author.record(proof, dot, &merge, in: &transaction)
                    }
                }
                try merge.finish(in: &transaction)
                for (index, sequence) in ownSequences {
                    try self.author.reauthorLate(index, after: sequence, in: &transaction)
                    try self.author.reauthorBehindFork(index, after: sequence, in: &transaction)
                }
                return merge.summary
            }
            self.storeFailure = nil
            self.author.clock.observe(summary.appliedStamp)
            connection.traffic.pulledChangeCount += summary.storedChangeCount
            connection.traffic.pulledOperationCount += summary.storedOperationCount
            try self.afterIngest(runs, acceptances, summary, from: connection)
        } catch {
            self.author.standing = standing
            // Nothing was kept, and the frontier does not claim it: the peer sends it again another time.
            self.note(error)
            #if PLANTED_BUGS
            if PlantedBug.failedIngestGoesOn.isPlanted { return }
            #endif
            self.drop(connection)
        }
    }

    private mutating func afterIngest(
        _ runs: [Run],
        _ acceptances: [RunAcceptance],
        _ summary: Merge.Summary,
        from connection: PeerConnection
    ) throws(StoreError) {
        if runs.contains(where: { $0.firstSequence == 1 }) { try self.refreshBook() }
        var mayWait = summary.storedChangeCount > 0 || summary.rebuilt
        #if PLANTED_BUGS
        if PlantedBug.rebuiltWaitsForgotten.isPlanted { mayWait = summary.storedChangeCount > 0 }
        #endif
        if mayWait { try self.refreshWaits() }
        var stored: [Dot] = []
        var fresh: [Dot] = []
        var violation: String?
        var isDisputed = false
        var sawDuplicate = false
        for (run, acceptance) in zip(runs, acceptances) {
            switch acceptance {
            case .stored, .duplicate:
                let dot = Dot(replica: run.replica, sequence: run.lastSequence)
                stored.append(dot)
                if case .duplicate = acceptance {
                    sawDuplicate = true
                    connection.traffic.duplicateChangeCount += run.changes.count
                } else {
                    fresh.append(dot)
                }
            case .fork(_, let dot): self.forkProved(dot)
            case .disputed: isDisputed = true
            case .beyondFork: break
            case .violation(let reason): violation = reason
            }
        }
        for dot in stored {
            let conversation = connection.conversation
            connection.conversation.peerSequences[dot.replica] =
                max(conversation.peerSequences[dot.replica] ?? 0, dot.sequence)
            connection.conversation.sentSequences[dot.replica] =
                max(conversation.sentSequences[dot.replica] ?? 0, dot.sequence)
        }
        self.compareWithOthers(stored, fresh, from: connection)
        self.announce(stored)
        if let violation {
            self.violation(connection, violation)
        } else if isDisputed {
            // Where the two chains part is found when the frontiers are compared again.
            self.counters.disputedRunCount += 1
            self.drop(connection)
        } else {
            self.giveCredit(connection)
            if sawDuplicate, !connection.conversation.askedForLazy, connection.conversation.peerIsCaughtUp {
                connection.conversation.askedForLazy = true
                self.send(.eagerness(false), on: connection)
            }
            self.sendHeldNotices(connection)
        }
        self.adoptRollbacks(fresh)
        try self.requestBranches(of: fresh)
        self.pumpAll()
    }

    private mutating func giveCredit(_ connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.creditKept.isPlanted { return }
        #endif
        let byteCount = connection.conversation.uncreditedByteCount
        guard byteCount > 0 else { return }
        connection.conversation.uncreditedByteCount = 0
        self.send(.credit(UInt64(byteCount)), on: connection)
    }

    /// Tells every peer what is durable here.
    mutating func announce(_ dots: [Dot]) {
        var latest: [ReplicaID: UInt64] = [:]
        for dot in dots { latest[dot.replica] = max(latest[dot.replica] ?? 0, dot.sequence) }
        let news = VersionVector(latest).sorted
        guard !news.isEmpty else { return }
        for connection in self.readyConnections { self.send(.stored(news), on: connection) }
    }
}
