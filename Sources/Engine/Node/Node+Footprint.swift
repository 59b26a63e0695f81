internal import SyncProtocol

/// What a node keeps in memory for the sake of others, most of whom may be hostile.
package struct NodeFootprint: Hashable, Sendable {
    package var connectionCount = 0
    package var halfOpenCount = 0
    /// Bytes that one connection's peer has not taken yet, where they are most.
    package var unsentByteCount = 0
    /// Entries that one connection's peer has announced and that mean nothing here, where they are most.
    package var unknownEntryCount = 0
    /// Bytes of runs that one connection's peer has not acknowledged, where they are most.
    package var unacknowledgedByteCount = 0
    /// Parts of one connection's comparison that are still open, where they are most.
    package var openSpanCount = 0
    /// Changes that wait to be sent to one connection's peer once more, where they are most.
    package var givenChangeCount = 0
    /// Invites that are open.
    package var inviteCount = 0

    package init() {}

    /// Which limit is passed, in words; nil if none is.
    package var excess: String? {
        let measures = [
            (self.connectionCount, ConnectionLimits.countMax, "connections"),
            (self.halfOpenCount, ConnectionLimits.halfOpenCountMax, "half-open connections"),
            // What was handed over last may have passed the limit; nothing more is.
            (self.unsentByteCount, TransferLimits.unsentByteCountLimit + (2 << 20), "bytes that a peer does not take"),
            (self.unknownEntryCount, TransferLimits.unknownEntryCountMax, "entries that mean nothing"),
            (self.openSpanCount, TransferLimits.openSpanCountMax, "open ranges"),
            (
                self.givenChangeCount, TransferLimits.givenChangeCountMax + MessageLimits.wantedChangeCountMax,
                "changes to be sent once more"
            ),
            (self.inviteCount, Invite.openCountMax, "invites"),
        ]
        return measures.first { count, limit, _ in count > limit }.map { count, _, what in "\(count) \(what)" }
    }
}

extension Node where Store: ~Copyable {
    /// How much is kept now.
    ///
    /// - Complexity: O(*c*) for *c* connections.
    package var footprint: NodeFootprint {
        var footprint = NodeFootprint()
        footprint.connectionCount = self.connections.count
        footprint.inviteCount = self.admissions.invites.count
        for connection in self.connections.values {
            if !connection.isDialled, connection.device == nil { footprint.halfOpenCount += 1 }
            let session = connection.session
            footprint.unknownEntryCount = max(footprint.unknownEntryCount, session.unknownEntryCount)
            footprint.unacknowledgedByteCount = max(footprint.unacknowledgedByteCount, session.window.underWay)
            footprint.openSpanCount = max(footprint.openSpanCount, session.openSpanCount)
            footprint.givenChangeCount = max(footprint.givenChangeCount, session.givenChangeCount)
            footprint.unsentByteCount = max(footprint.unsentByteCount, connection.unsentByteCount)
        }
        return footprint
    }
}
