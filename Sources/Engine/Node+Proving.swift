internal import CRDTCore
internal import SyncProtocol

/// Chains that two peers got on different ways: a device that signs two changes with one dot and tells one to each is
/// found out by their hashes, and an announcement carries none.
extension Node where Store: ~Copyable {
    /// Notes that a peer holds a chain as far as we do, by its own word.
    mutating func noteUnproven(_ dot: Dot, on connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.announcementTrusted.isPlanted { return }
        #endif
        guard connection.isDialled, connection.conversation.hasRoom(for: dot.replica) else { return }
        let noted = connection.conversation.unproven[dot.replica] ?? 0
        connection.conversation.unproven[dot.replica] = max(noted, dot.sequence)
        if connection.conversation.proofDeadline == nil {
            connection.conversation.proofDeadline = self.now.monotonicMilliseconds + ConnectionTimes.proofDelay
        }
    }

    /// What came from one peer: with that one the chains agree so far; others may have said that they hold it too.
    mutating func compareWithOthers(_ stored: [Dot], _ fresh: [Dot], from connection: PeerConnection) {
        for dot in stored where connection.conversation.unproven[dot.replica] ?? .max <= dot.sequence {
            connection.conversation.unproven[dot.replica] = nil
        }
        for other in self.readyConnections where other !== connection {
            for dot in fresh {
                guard let theirs = other.conversation.peerSequences[dot.replica], theirs > 0 else { continue }
                guard theirs >= dot.sequence else { continue }
                self.noteUnproven(dot, on: other)
            }
        }
    }

    /// Shows the peer our hashes of the chains that nothing else has shown to be the same; it answers only if its own
    /// differ.
    mutating func showHashes(_ connection: PeerConnection) {
        connection.conversation.proofDeadline = nil
        let due = connection.conversation.unproven.sorted { $0.key < $1.key }.prefix(TransferLimits.proofCountMax)
        for (replica, _) in due { connection.conversation.unproven[replica] = nil }
        if !connection.conversation.unproven.isEmpty {
            connection.conversation.proofDeadline = self.now.monotonicMilliseconds + ConnectionTimes.proofDelay
        }
        do throws(StoreError) {
            for (replica, sequence) in due { try self.showHash(of: replica, at: sequence, on: connection) }
        } catch {
            self.note(error)
            self.drop(connection)
        }
    }

    private mutating func showHash(
        of replica: ReplicaID,
        at sequence: UInt64,
        on connection: PeerConnection
    ) throws(StoreError) {
        let held = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> Hash256? in
            guard let index = transaction.existingReplicaIndex(of: replica),
                sequence <= transaction.replica(index).sendableSequence
            else { return nil }
            return try transaction.hash(of: index, sequence: sequence)
        }
        guard let hash = held else { return }
        let point = ChainPoint(sequence: sequence, hash: hash)
        self.send(.forkProbe(ForkProbe(replica: replica, points: [point])), on: connection)
    }
}
