internal import CRDTCore
internal import SyncProtocol

/// The branches of forked chains that do not stand in the log here.
///
/// They are asked for, and written again where they are our own; else they are kept, and passed on until they have come
/// to the device that wrote them.
extension Node where Store: ~Copyable {
    private struct BranchQuestion {
        var replica: ReplicaID
        var branch: Conversation.AwaitedBranch
    }

    /// Asks a peer for its branches of forked chains.
    ///
    /// Of our own it may hold what only a lost database held here; those of others their device may get from us.
    mutating func requestBranches(from connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.otherBranchNotAsked.isPlanted { return }
        #endif
        do throws(StoreError) {
            for question in try self.branchQuestions(to: connection) {
                connection.conversation.awaitedBranches[question.replica] = []
                self.ask(for: question.branch, of: question.replica, on: connection)
            }
        } catch {
            self.failed(error, on: connection)
        }
    }

    /// Asks for the branches of forked chains of which something has come: it may be what was missing to ask.
    mutating func requestBranches(of dots: [Dot]) throws(StoreError) {
        let areForked = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            dots.contains { dot in
                guard let index = transaction.existingReplicaIndex(of: dot.replica) else { return false }
                return transaction.replica(index).forkSequence != nil
            }
        }
        guard areForked else { return }
        for connection in self.readyConnections { self.requestBranches(from: connection) }
    }

    private mutating func branchQuestions(to connection: PeerConnection) throws(StoreError) -> [BranchQuestion] {
        let (device, workspace) = (self.author.identity.device, self.author.membership.workspace)
        let awaited = connection.conversation.awaitedBranches
        return try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var questions: [BranchQuestion] = []
            var othersCount = 0
            // The latest first: an old fork has been asked about before.
            for position in (0..<transaction.replicaCount).reversed() {
                let index = ReplicaIndex(rawValue: UInt32(position))
                let record = transaction.replica(index)
                guard let fork = record.forkSequence, fork < awaited[record.id]?.first?.fork ?? .max else { continue }
                let own = try transaction.hash(of: index, sequence: fork)
                var previous = ChainHash.origin(workspace)
                if fork > 1 { previous = try transaction.hash(of: index, sequence: fork - 1) ?? previous }
                var sequence = fork
                // Without what comes before the fork, no branch can be checked: it is asked for when that has come.
                guard record.storedSequence >= fork - 1 else { continue }
                if record.introduction?.device != device {
                    guard own != nil, othersCount < KeptBranches.requestCountMax else { continue }
                    othersCount += 1
                    if let end = try KeptBranches.end(of: record.id, fork: fork, in: &transaction) {
                        (sequence, previous) = (end.sequence, end.previous)
                    }
                }
                let branch = Conversation.AwaitedBranch(
                    fork: fork,
                    sequence: sequence,
                    previous: previous,
                    knownHash: own ?? .zero
                )
                questions.append(BranchQuestion(replica: record.id, branch: branch))
            }
            return questions
        }
    }

    /// Answers with another branch than the asker's, from the log or from what is kept.
    ///
    /// What is not here may come, and is then sent.
    mutating func sendBranch(_ request: BranchRequest, on connection: PeerConnection) {
        do throws(StoreError) {
            let run = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> Run? in
                guard let index = transaction.existingReplicaIndex(of: request.replica) else { return nil }
                if let fork = transaction.replica(index).forkSequence, fork <= request.sequence,
                    try transaction.hash(of: index, sequence: fork) == request.knownHash
                {
                    let (replica, sequence) = (request.replica, request.sequence)
                    return try KeptBranches.part(of: replica, fork: fork, from: sequence, in: &transaction)
                }
                guard let hash = try transaction.hash(of: index, sequence: request.sequence), hash != request.knownHash
                else { return nil }
                return try transaction.loadRun(
                    of: index,
                    from: request.sequence,
                    limits: TransferLimits.branch,
                    signed: true
                )
            }
            connection.conversation.openBranchRequests.removeAll {
                $0.replica == request.replica && $0.knownHash == request.knownHash
            }
            if let run {
                self.send(.branch(run), on: connection)
            } else if connection.conversation.openBranchRequests.count < KeptBranches.requestCountMax {
                connection.conversation.openBranchRequests.append(request)
            }
        } catch {
            self.failed(error, on: connection)
        }
    }

    /// A branch of a chain we know to be forked, or that proves it to be.
    mutating func receivedBranch(_ run: Run, on connection: PeerConnection) {
        let standing = self.author.standing
        do throws(StoreError) {
            let awaited = connection.conversation.awaitedBranches[run.replica] ?? []
            let found = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try self.author.take(run, awaited: awaited, in: &transaction)
            }
            switch found {
            case .nothing: break
            case .proof(let proof, let dot): self.keep(proof, dot, from: connection)
            case .rewritten(let part):
                self.askForMore(of: part, on: connection)
                self.askForOther(than: part, on: connection)
                self.pumpAll()
            case .kept(let part):
                self.askForMore(of: part, on: connection)
                self.passOn(part, from: connection)
            }
        } catch {
            self.author.standing = standing
            self.failed(error, on: connection)
        }
    }

    /// Asks for what follows a part of a branch.
    private mutating func askForMore(of part: BranchPart, on connection: PeerConnection) {
        var next = part.awaited
        (next.sequence, next.previous) = (part.lastSequence + 1, part.lastHash)
        self.ask(for: next, of: part.replica, on: connection)
    }

    /// Asks for the other branch of a chain of ours of which the log here holds neither.
    private mutating func askForOther(than part: BranchPart, on connection: PeerConnection) {
        guard part.awaited.knownHash == .zero, part.awaited.sequence == part.awaited.fork else { return }
        #if PLANTED_BUGS
        if PlantedBug.oneBranchOfTwoAsked.isPlanted { return }
        #endif
        var other = part.awaited
        other.knownHash = part.firstHash
        self.ask(for: other, of: part.replica, on: connection)
    }

    private mutating func ask(
        for branch: Conversation.AwaitedBranch,
        of replica: ReplicaID,
        on connection: PeerConnection
    ) {
        var awaited = connection.conversation.awaitedBranches[replica] ?? []
        awaited.removeAll { $0.knownHash == branch.knownHash }
        connection.conversation.awaitedBranches[replica] = awaited + [branch]
        let request = BranchRequest(replica: replica, sequence: branch.sequence, knownHash: branch.knownHash)
        self.send(.branchRequest(request), on: connection)
    }

    /// Answers what others have asked for, and could not be answered before.
    private mutating func passOn(_ part: BranchPart, from source: PeerConnection) {
        for connection in self.readyConnections where connection !== source {
            for request in connection.conversation.openBranchRequests where request.replica == part.replica {
                self.sendBranch(request, on: connection)
            }
        }
    }
}
