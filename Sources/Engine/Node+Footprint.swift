internal import SyncProtocol

/// What a node keeps in memory for the sake of others, most of whom may be hostile.
package struct NodeFootprint: Hashable, Sendable {
    package var connectionCount = 0
    package var halfOpenCount = 0
    /// Bytes that one connection's peer has not taken yet, where they are most.
    package var unsentByteCount = 0
    /// Chains of which something is noted for one connection, where they are most.
    package var notedChainCount = 0
    /// Parts of one connection's comparison that are still open, where they are most.
    package var openSpanCount = 0
    /// Invites that are open.
    package var inviteCount = 0

    /// Which limit is passed, in words; nil if none is.
    package var excess: String? {
        if self.connectionCount > ConnectionLimits.countMax { return "\(self.connectionCount) connections" }
        if self.halfOpenCount > ConnectionLimits.halfOpenCountMax {
            return "\(self.halfOpenCount) half-open connections"
        }
        // What was handed over last may have passed the limit; nothing more is.
        if self.unsentByteCount > TransferLimits.unsentByteCountLimit + (2 << 20) {
            return "\(self.unsentByteCount) bytes that a peer does not take"
        }
        if self.notedChainCount > TransferLimits.announcedReplicaCountMax {
            return "notes of \(self.notedChainCount) chains"
        }
        if self.openSpanCount > TransferLimits.openSpanCountMax { return "\(self.openSpanCount) open ranges" }
        if self.inviteCount > Invite.openCountMax { return "\(self.inviteCount) invites" }
        return nil
    }
}

extension Node where Store: ~Copyable {
    /// How much is kept now.
    ///
    /// - Complexity: O(*c*) for *c* connections.
    package var footprint: NodeFootprint {
        var footprint = NodeFootprint()
        footprint.connectionCount = self.connections.count
        footprint.inviteCount = self.invites.count
        for connection in self.connections.values {
            if !connection.isDialled, connection.device == nil { footprint.halfOpenCount += 1 }
            let conversation = connection.conversation
            let noted = [
                conversation.peerSequences.count, conversation.sentSequences.count, conversation.disputed.count,
                conversation.sharedForks.count, conversation.askedForks.count, conversation.heldNotices.count,
                conversation.unproven.count, conversation.openBranchRequests.count,
            ]
            footprint.notedChainCount = max(footprint.notedChainCount, noted.max() ?? 0)
            footprint.openSpanCount = max(footprint.openSpanCount, conversation.comparison.unlearned.count)
            footprint.unsentByteCount = max(footprint.unsentByteCount, connection.unsentByteCount)
        }
        return footprint
    }
}
