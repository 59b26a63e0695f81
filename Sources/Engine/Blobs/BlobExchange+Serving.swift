package import CRDTCore
package import SyncProtocol

/// A peer as one that asks for leaves.
struct BlobClient: Sendable {
    /// What it has asked for and was not sent, in order.
    var wants: [Want] = []
    /// What lies ready to be sent.
    var ready: [BlobMessage] = []
    /// Whether the disk is reading for it.
    var isReading = false
    /// Blobs that it asked for and were not here, the latest one last.
    var hopeful: [BlobRoot] = []

    struct Want: Sendable {
        var want: BlobWant
        var shape: BlobShape
        /// Taken back: what the disk reads for it is not sent.
        var isCancelled = false
    }

    mutating func cancel(_ number: UInt32) {
        guard let index = self.wants.firstIndex(where: { $0.want.number == number }) else { return }
        // What the disk reads for the first one is awaited.
        if index == 0, self.isReading { self.wants[0].isCancelled = true } else { self.wants.remove(at: index) }
    }

    mutating func noteHope(for root: BlobRoot) {
        guard !self.hopeful.contains(root) else { return }
        if self.hopeful.count == BlobExchangeLimits.hopefulCountMax { self.hopeful.removeFirst() }
        self.hopeful.append(root)
    }
}

/// Sending what peers ask for.
///
/// A peer's questions are answered in their order, one leaf at a time: the next one is read when the last one has been
/// sent. So a peer holds one leaf of memory here, whatever it asks for.
extension BlobExchange {
    /// The next message that a peer has asked for; to be taken when nothing else is to be sent to it.
    package mutating func next(for connection: ConnectionID) -> BlobMessage? {
        guard let client = self.clients[connection], !client.ready.isEmpty else { return nil }
        let message = self.clients[connection]?.ready.removeFirst()
        self.readNext(for: connection)
        return message
    }

    /// Whether something lies ready for a peer.
    package func hasNext(for connection: ConnectionID) -> Bool {
        self.clients[connection]?.ready.isEmpty == false
    }

    mutating func serve(_ want: BlobWant, to connection: ConnectionID, _ permission: BlobPermission) {
        guard let client = self.clients[connection] else { return }
        guard client.wants.count < BlobExchangeLimits.openWantCountMax else {
            self.actions.append(.violation(connection, "more questions for blobs than it may ask at once"))
            return
        }
        switch permission {
        case .refused(let lack):
            self.clients[connection]?.noteHope(for: want.root)
            self.actions.append(.send(connection, .lacking(want.number, leaves: want.leaves, lack)))
        case .granted(let shape):
            guard want.group < shape.groupCount else {
                self.actions.append(.violation(connection, "a question for a part that a blob does not have"))
                return
            }
            let count = shape.leaves(group: want.group).count
            guard count == 64 || want.leaves >> UInt64(count) == 0 else {
                self.actions.append(.violation(connection, "a question for leaves that a blob does not have"))
                return
            }
            self.clients[connection]?.wants.append(BlobClient.Want(want: want, shape: shape))
            self.readNext(for: connection)
        }
    }

    /// Has the disk read what the first open question asks for next.
    private mutating func readNext(for connection: ConnectionID) {
        guard let client = self.clients[connection], !client.isReading, client.ready.isEmpty else { return }
        while let first = self.clients[connection]?.wants.first {
            if first.want.wantsProof {
                self.clients[connection]?.isReading = true
                let (root, group) = (first.want.root, first.want.group)
                self.actions.append(.perform(.readProof(root, first.shape, group: group, for: connection)))
                return
            }
            guard first.want.leaves == 0 else {
                self.clients[connection]?.isReading = true
                let leaf = (first.want.group << BlobShape.groupLevel) + first.want.leaves.trailingZeroBitCount
                self.actions.append(.perform(.readLeaf(first.want.root, first.shape, leaf: leaf, for: connection)))
                return
            }
            self.clients[connection]?.wants.removeFirst()
        }
    }

    mutating func send(_ proof: GroupProof, _ group: Int, of root: BlobRoot, to connection: ConnectionID) {
        guard let want = self.endReading(for: connection) else { return }
        self.clients[connection]?.wants[0].want.wantsProof = false
        self.clients[connection]?.ready.append(.proof(want.number, proof))
    }

    mutating func send(_ content: [UInt8], _ leaf: Int, of root: BlobRoot, to connection: ConnectionID) {
        guard let want = self.endReading(for: connection) else { return }
        let place = UInt8(truncatingIfNeeded: leaf & (BlobShape.groupLeafCount - 1))
        self.clients[connection]?.wants[0].want.leaves &= ~(1 << UInt64(place))
        // A leaf of no bytes is one piece.
        for start in stride(from: 0, to: max(1, content.count), by: BlobPiece.byteCountMax) {
            let bytes = Array(content[start..<min(start + BlobPiece.byteCountMax, content.count)])
            self.clients[connection]?.ready.append(
                .piece(BlobPiece(want: want.number, leaf: place, bytes: bytes))
            )
        }
    }

    mutating func readFailed(_ failure: BlobFailure, for connection: ConnectionID) {
        guard let want = self.endReading(for: connection) else { return }
        let lack: BlobLack
        var leaves = want.leaves
        switch failure {
        case .absent where want.wantsProof: lack = .notYet
        case .absent:
            // Of a blob under way, others may be here.
            (lack, leaves) = (.notYet, want.leaves & (~want.leaves &+ 1))
        default: lack = .unreadable
        }
        self.clients[connection]?.ready.append(.lacking(want.number, leaves: leaves, lack))
        self.clients[connection]?.wants[0].want.leaves &= ~leaves
        self.clients[connection]?.wants[0].want.wantsProof = false
        self.clients[connection]?.noteHope(for: want.root)
        if lack == .unreadable { self.clients[connection]?.wants.removeFirst() }
    }

    /// The question for which the disk has read; nil if nobody waits for that any more.
    private mutating func endReading(for connection: ConnectionID) -> BlobWant? {
        guard self.clients[connection]?.isReading == true, let first = self.clients[connection]?.wants.first else {
            return nil
        }
        self.clients[connection]?.isReading = false
        guard !first.isCancelled else {
            self.clients[connection]?.wants.removeFirst()
            self.readNext(for: connection)
            return nil
        }
        return first.want
    }

    /// Tells those who asked for a blob in vain that it has come.
    mutating func tellHopeful(_ root: BlobRoot) {
        for connection in self.clients.keys.sorted() {
            guard let index = self.clients[connection]?.hopeful.firstIndex(of: root) else { continue }
            self.clients[connection]?.hopeful.remove(at: index)
            self.actions.append(.send(connection, .here(root)))
        }
    }

    /// A blob has come here by another way than an exchange.
    package mutating func noteHere(_ root: BlobRoot, at now: UInt64) {
        self.now = now
        self.tellHopeful(root)
    }
}
