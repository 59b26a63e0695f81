internal import CRDTCore
internal import SyncProtocol

/// The branches of forked chains that do not stand in the log here.
///
/// They are asked for, and written again where they are our own; else they are kept, and passed on until they have come
/// to the device that wrote them.
extension Node where Store: ~Copyable {
    /// Asks a peer for what we lack of forked chains.
    ///
    /// Of our own it may hold what only a lost database held here; those of others their device may get from us.
    mutating func requestBranches(from connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.otherBranchNotAsked.isPlanted { return }
        #endif
        do throws(StoreError) {
            for (replica, fork) in try self.forksToAskAbout(on: connection) {
                connection.conversation.askedForks[replica] = fork
                try self.askForBranches(of: replica, on: connection)
            }
        } catch {
            self.failed(error, on: connection)
        }
    }

    /// Asks about forked chains of which something has come, and answers what others had asked about them.
    mutating func requestBranches(of dots: [Dot]) throws(StoreError) {
        let forked = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            dots.map(\.replica).filter { replica in
                guard let index = transaction.existingReplicaIndex(of: replica) else { return false }
                return transaction.replica(index).forkSequence != nil
            }
        }
        guard !forked.isEmpty else { return }
        for connection in self.readyConnections { self.requestBranches(from: connection) }
        for replica in forked { self.answerOpenRequests(for: replica) }
    }

    private mutating func forksToAskAbout(
        on connection: PeerConnection
    ) throws(StoreError) -> [(replica: ReplicaID, fork: UInt64)] {
        let device = self.author.identity.device
        let asked = connection.conversation.askedForks
        return try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var forks: [(replica: ReplicaID, fork: UInt64)] = []
            var othersCount = 0
            // The latest first: an old fork has been asked about before.
            for position in (0..<transaction.replicaCount).reversed() {
                let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
                // Without what comes before the fork, no branch can be checked: it is asked for when that has come.
                guard let fork = record.forkSequence, fork < asked[record.id] ?? .max,
                    record.storedSequence >= fork - 1
                else { continue }
                let author = record.device
                // What its author holds of a chain, he has written again when he heard of the fork.
                guard author == nil || author != connection.device else { continue }
                if author != device {
                    guard othersCount < BranchLimits.askedCountMax else { continue }
                    othersCount += 1
                }
                forks.append((record.id, fork))
            }
            return forks
        }
    }

    private mutating func askForBranches(
        of replica: ReplicaID,
        on connection: PeerConnection
    ) throws(StoreError) {
        let told = connection.conversation.knownBranchEnds[replica] ?? []
        let points = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            guard let index = transaction.existingReplicaIndex(of: replica),
                let fork = transaction.replica(index).forkSequence
            else { return [ChainPoint]() }
            var tree = try self.author.branchTree(of: index, in: &transaction)
            let count = MessageLimits.branchPointCountMax
            return try tree.points(from: fork, told: told, atMost: count, in: &transaction)
        }
        guard !points.isEmpty else { return }
        self.send(.branchRequest(BranchRequest(replica: replica, points: points)), on: connection)
    }

    /// Answers with a part of a branch that the asker lacks, from the log or from what is kept.
    ///
    /// What is not here may come, and is then sent.
    mutating func sendBranch(_ request: BranchRequest, on connection: PeerConnection) {
        do throws(StoreError) {
            let part = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> BranchPart? in
                guard let index = transaction.existingReplicaIndex(of: request.replica) else { return nil }
                var tree = try self.author.branchTree(of: index, in: &transaction)
                return try tree.missing(after: request.points, in: &transaction)
            }
            connection.conversation.openBranchRequests[request.replica] = nil
            if let part {
                self.send(.branch(part), on: connection)
            } else if connection.conversation.openBranchRequests.count < BranchLimits.askedCountMax {
                connection.conversation.openBranchRequests[request.replica] = request
            }
        } catch {
            self.failed(error, on: connection)
        }
    }

    /// A branch of a chain we know to be forked, or that proves it to be.
    mutating func receivedBranch(_ part: BranchPart, on connection: PeerConnection) {
        let standing = self.author.standing
        let replica = part.run.replica
        do throws(StoreError) {
            let outcome = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try self.author.take(part, in: &transaction)
            }
            switch outcome {
            case .nothing: break
            case .proof(let proof, let dot): self.keep(proof, dot, from: connection)
            case .known: try self.askPast(part, on: connection)
            case .rewritten:
                try self.askForMore(of: replica, on: connection)
                self.pumpAll()
            case .kept:
                try self.askForMore(of: replica, on: connection)
                self.answerOpenRequests(for: replica)
            }
        } catch {
            self.author.standing = standing
            self.failed(error, on: connection)
        }
    }

    /// Asks for what follows a part of a branch, or stands in another.
    private mutating func askForMore(of replica: ReplicaID, on connection: PeerConnection) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.restOfBranchesNotAsked.isPlanted { return }
        #endif
        try self.askForBranches(of: replica, on: connection)
    }

    /// Asks again after a part that had come another way, or of which our points had not shown that we know it.
    private mutating func askPast(_ part: BranchPart, on connection: PeerConnection) throws(StoreError) {
        let ends = connection.conversation.knownBranchEnds.values.reduce(0) { $0 + $1.count }
        guard ends < BranchLimits.knownEndCountMax else { return }
        let hashes = ChainHash.hashes(of: part.run, previous: part.previous, self.author.cryptography)
        guard let last = hashes.last else { return }
        let end = ChainPoint(sequence: part.run.lastSequence, hash: last)
        connection.conversation.knownBranchEnds[part.run.replica, default: []].append(end)
        try self.askForBranches(of: part.run.replica, on: connection)
    }

    /// Answers what others have asked for, and could not be answered before.
    private mutating func answerOpenRequests(for replica: ReplicaID) {
        for connection in self.readyConnections {
            guard let request = connection.conversation.openBranchRequests[replica] else { continue }
            self.sendBranch(request, on: connection)
        }
    }
}

/// The numbers of what is said of branches.
enum BranchLimits {
    /// Forked chains of others whose branches are asked for in one session, and requests that wait for an answer.
    static let askedCountMax = 64
    /// Parts that a peer may send in one session though they are known, and is asked again.
    static let knownEndCountMax = 32
}
